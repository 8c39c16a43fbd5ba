package delegate_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/skills/delegate"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// box is what a model gets to see of an Expert.
func box(t *testing.T, e *expert.Expert) *skill.Toolbox {
	t.Helper()
	b, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: delegate.All(e)[0]}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The whole text, since it is read by models: a change of it is a change of behaviour.
func TestWhatTheModelIsTold(t *testing.T) {
	const told = `Ask the Expert "@acme/reviewer". It works on its own, in the same workspace, and answers when it is done. ` +
		`It sees your query and nothing else: neither this conversation, nor your instruction, nor what other Experts were asked. ` +
		`You see its answer and nothing of its work. So put into the query what it shall do and everything that it must know for that: facts, paths of files, the form of the answer.`
	tests := []struct{ name, description, want string }{
		{"described", "Finds mistakes.\n", told + "\n\nWhat it says about itself:\nFinds mistakes."},
		{"not described", "", told},
		{"blank", " \n\t", told},
		{"hidden orders", "Finds\u200b mistakes.\x1b[2J", told + "\n\nWhat it says about itself:\nFinds<U+200B> mistakes.<U+001B>[2J"},
		{"a pattern", "100%s {name} %!d", told + "\n\nWhat it says about itself:\n100%s {name} %!d"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tools := box(t, &expert.Expert{Key: "@acme/reviewer@1.0.0", Name: "@acme/reviewer", Description: tt.description}).Tools()
			if len(tools) != 1 || tools[0].Name != "reviewer" || tools[0].Kind != skill.Delegate || tools[0].Repeatable {
				t.Fatalf("tools %+v", tools)
			}
			if tools[0].Description != tt.want {
				t.Errorf("told %q\nwant %q", tools[0].Description, tt.want)
			}
			const schema = `{"type":"object","properties":{"query":{"type":"string","minLength":1,"description":"the whole task, with all that is needed for it"}},"required":["query"],"additionalProperties":false}`
			if got := string(tools[0].InputSchema); got != schema {
				t.Errorf("schema %s", got)
			}
		})
	}
}

// The name is one that providers accept, and leads back to the Expert.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{"writer": "writer", "@acme/writer": "writer", "@acme/tax.2024": "tax_2024"} {
		b := box(t, &expert.Expert{Key: name, Name: name})
		if _, owner, ok := b.Lookup(want); !ok || owner != name {
			t.Errorf("%s: called as %q it is %q, %t", name, want, owner, ok)
		}
	}
}

func TestQueryIsChecked(t *testing.T) {
	b := box(t, &expert.Expert{Key: "writer", Name: "writer"})
	for args, ok := range map[string]bool{
		`{"query":"write"}`:               true,
		`{}`:                              false,
		``:                                false,
		`{"query":""}`:                    false,
		`{"query":7}`:                     false,
		`{"query":null}`:                  false,
		`{"query":"write","file":"a.md"}`: false, // the other would never see it
	} {
		err := b.Check(event.ToolCall{ToolName: "writer", Args: rawjson.Value(args)})
		var wrong *skill.ArgumentError
		if ok != (err == nil) || !ok && !errors.As(err, &wrong) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

func TestSkill(t *testing.T) {
	s := delegate.All(&expert.Expert{Key: "@acme/writer@2.0.0", Name: "@acme/writer"})[0]
	if s.Name() != "@acme/writer" {
		t.Errorf("Name() = %q", s.Name())
	}
	tools, err := s.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tools[0].Name, tools[0].InputSchema[0] = "other", '['
	if again, _ := s.Tools(t.Context()); again[0].Name != "writer" || again[0].InputSchema[0] != '{' {
		t.Error("a caller of Tools can change the skill")
	}
	_, err = s.Call(t.Context(), event.ToolCall{ToolName: "writer"})
	if err == nil || !strings.Contains(err.Error(), `"writer" is another Expert`) {
		t.Errorf("Call: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
