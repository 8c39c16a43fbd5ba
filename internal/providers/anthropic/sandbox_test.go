package anthropic_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/anthropic"
	"github.com/perstack-go/perstack/model"
)

// What code of one answer has written is there in the next: the container is named again,
// until it is gone, by its own model alone.
func TestContainerIsUsedAgain(t *testing.T) {
	code := func(c *anthropic.Config) { c.Tools = []string{"codeExecution"} }
	skills := func(c *anthropic.Config) { c.Skills = []expert.ProviderSkill{{Type: "builtin", SkillID: "pdf"}} }
	for name, tt := range map[string]struct {
		change        func(*anthropic.Config)
		expires       string
		author        string
		first, second string
	}{
		"code":      {code, "2999-01-01T00:00:00Z", own, "", `"container":"ct_1",`},
		"skills":    {skills, "2999-01-01T00:00:00Z", own, `"container":{"skills":[{"type"`, `"container":{"id":"ct_1","skills":[{"type"`},
		"gone":      {code, "2020-01-01T00:00:00Z", own, "", ""},
		"another's": {code, "2999-01-01T00:00:00Z", "anthropic/other", "", ""},
		"no code":   {nil, "2999-01-01T00:00:00Z", own, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			var body string
			ended := strings.Replace(end, `"stop_sequence":null`, `"container":{"id":"ct_1","expires_at":"`+tt.expires+`"}`, 1)
			m := serve(t, func(w http.ResponseWriter, r *http.Request) {
				all, _ := io.ReadAll(r.Body)
				body = string(all)
				streaming(start, textStart, textOne, stop0, ended, stop)(w, r)
			}, tt.change)
			req := hello()
			req.Tools = []model.Tool{{Name: "read"}}
			answer, _, err := ask(t.Context(), m, req)
			if err != nil {
				t.Fatal(err)
			}
			if has := strings.Contains(body, `"container"`); has != (tt.first != "") || !strings.Contains(body, tt.first) {
				t.Errorf("first %s", body)
			}
			req.Messages = []*event.Message{user("Hello"), says(tt.author, answer.Parts...), user("Go on.")}
			if _, _, err := ask(t.Context(), m, req); err != nil {
				t.Fatal(err)
			}
			if has := strings.Contains(body, `"container"`); has != (tt.second != "") || !strings.Contains(body, tt.second) || strings.Contains(body, "expires_at") {
				t.Errorf("then %s", body)
			}
		})
	}
}
