package providers_test

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/model"
)

// Only an Expert that names tools of the provider is offered them: neither its
// delegates nor its caller.
func TestOpenTeam(t *testing.T) {
	search := &expert.Expert{Key: "searcher", ProviderTools: []string{"webSearch"}}
	few := &expert.Expert{Key: "few", ProviderTools: []string{"webSearch"}, ProviderToolOptions: &expert.ProviderToolOptions{WebSearch: &expert.WebSearchOptions{MaxUses: 3}}}
	office := &expert.Expert{Key: "office", ProviderSkills: []expert.ProviderSkill{{Type: "builtin", SkillID: "pdf"}}}
	writer, reader := &expert.Expert{Key: "writer"}, &expert.Expert{Key: "reader"}
	for _, experts := range [][]*expert.Expert{
		{writer, search, reader, office, few},
		{search, writer, few, office, reader},
	} {
		script, err := llm.Parse("script", []byte(strings.Repeat("[[turn]]\ntext = \"ok\"\n", len(experts))))
		if err != nil {
			t.Fatal(err)
		}
		server, root := llm.Start(t, script)
		env := llm.Env("anthropic", strings.TrimSuffix(root, "/v1"), t.TempDir())
		warnings := 0
		m, err := providers.OpenTeam(providers.Config{
			Provider: "anthropic", Model: "claude-of-tomorrow", Variables: func(name string) providers.Variable { return providers.Variable{Value: env[name]} },
			Warn: func(string) { warnings++ },
		}, experts)
		if err != nil {
			t.Fatal(err)
		}
		if warnings != 1 {
			t.Errorf("that the model is not known is said %d times", warnings)
		}
		for _, e := range experts {
			said := &event.Message{ID: e.Key, Type: event.UserMessage, Contents: []event.Part{{Type: event.TextPart, Text: e.Key}}}
			for _, err := range m.Generate(t.Context(), &model.Request{Expert: e.Key, Messages: []*event.Message{said}}) {
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		for i, r := range server.Requests() {
			body, e := string(r.Raw), experts[i]
			for mark, want := range map[string]bool{
				`"web_search_20250305"`: len(e.ProviderTools) > 0, `"max_uses":3`: e == few, `"skill_id":"pdf"`: e == office,
			} {
				if strings.Contains(body, mark) != want {
					t.Errorf("%s, after %s: that it is offered %s is %v: %s", e.Key, experts[0].Key, mark, !want, body)
				}
			}
		}
	}
}

// One that cannot work is refused before anything starts, and named.
func TestOpenTeamRefuses(t *testing.T) {
	bad := &expert.Expert{Key: "bad", ProviderSkills: []expert.ProviderSkill{{Type: "custom", Name: "mine", Definition: "{}"}}}
	choice := providers.Config{Provider: "anthropic", Model: "claude-sonnet-4-5", Variables: func(name string) providers.Variable {
		return providers.Variable{Value: map[string]string{"ANTHROPIC_API_KEY": "k"}[name]}
	}}
	_, err := providers.OpenTeam(choice, []*expert.Expert{{Key: "good"}, bad})
	if err == nil || !strings.HasPrefix(err.Error(), `expert "bad": anthropic: provider skill "mine" is custom`) {
		t.Errorf("%v", err)
	}
	if m, err := providers.OpenTeam(choice, nil); m == nil || err != nil {
		t.Errorf("without Experts: %v, %v", m, err)
	}
}
