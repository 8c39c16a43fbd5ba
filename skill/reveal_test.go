package skill_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// given is a fake with whole definitions.
type given struct {
	fake
	list []skill.Tool
}

func (g *given) Tools(context.Context) ([]skill.Tool, error) { return g.list, nil }

// What a person cannot see is shown to the model as what it is.
func TestHiddenTextIsShown(t *testing.T) {
	tests := []struct{ name, schema, want string }{ // want "" if the tool is left out
		{"plain", `{ "type":"object" }`, `{ "type":"object" }`},
		{"none", ``, ``},
		{"description", "{\"description\":\"a\u200bb\"}", `{"description":"a<U+200B>b"}`},
		{"as an escape", `{"description":"a\u202eb"}`, `{"description":"a<U+202E>b"}`},
		{"tags as escapes", `{"enum":["\udb40\udc41"],"default":["\u0007"]}`, `{"enum":["<U+E0041>"],"default":["<U+0007>"]}`},
		{"harmless escape", `{"pattern":"\\d\n","description":"\u0041"}`, `{"pattern":"\\d\n","description":"A"}`},
		{"numbers stay", `{"maximum":12345678901234567890,"x":"\u200b"}`, `{"maximum":12345678901234567890,"x":"<U+200B>"}`},
		{"a name", `{"properties":{"a\u200b":{}}}`, "-"},
		{"a name, raw", "{\"properties\":{\"a\u200b\":{}}}", "-"},
		{"no JSON", `{"a":`, "-"},
		{"a name twice", `{"a":1,"a":2}`, "-"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			g := &given{fake: fake{name: "s"}, list: []skill.Tool{{
				Name: "tool", Title: "T\u2060", Description: "does\x1b[8m\U000e0041 it 👩\u200d💻\n", InputSchema: rawjson.Value(tt.schema),
			}}}
			box, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: g}}, slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "-" {
				if len(box.Tools()) != 0 || !strings.Contains(log.String(), "skill=s tool=tool") {
					t.Errorf("not left out, or not reported: %+v\n%s", box.Tools(), log.String())
				}
				return
			}
			if len(box.Tools()) != 1 {
				t.Fatalf("left out: %s", log.String())
			}
			got := box.Tools()[0]
			if string(got.InputSchema) != tt.want {
				t.Errorf("schema %s\nwant %s", got.InputSchema, tt.want)
			}
			if got.Title != "T<U+2060>" || got.Description != "does<U+001B>[8m<U+E0041> it 👩\u200d💻\n" {
				t.Errorf("title %q, description %q", got.Title, got.Description)
			}
		})
	}
}
