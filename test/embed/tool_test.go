package embed

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

// stock is a skill of this program: its one tool is a Go method.
type stock struct{ items map[string]int }

func (stock) Name() string { return "stock" }
func (stock) Close() error { return nil }

func (stock) Tools(context.Context) ([]skill.Tool, error) {
	return []skill.Tool{{
		Name: "count", Description: "Counts an item in the warehouse.", Repeatable: true, ReadOnly: true,
		InputSchema: []byte(`{"type":"object","properties":{"item":{"type":"string"}},"required":["item"]}`),
	}}, nil
}

func (s stock) Call(_ context.Context, call event.ToolCall) (event.ToolResult, error) {
	var args struct{ Item string }
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return event.ToolResult{}, err
	}
	text := fmt.Sprintf("%d of %s", s.items[args.Item], args.Item)
	return event.ToolResult{Result: []event.Part{{Type: event.TextPart, Text: text}}}, nil
}

// An Expert calls a Go method of the program; others do not get it.
func TestGoTool(t *testing.T) {
	spec := newSpec(t, "How many lamps do we have?")
	play(t, &spec, `
[[turn]]
[[turn.call]]
tool = "count"
args = { item = "lamps" }
[[turn]]
contains = "7 of lamps"
text = "Seven."
`)
	tools := []skill.Skill{stock{map[string]int{"lamps": 7}}}
	for _, key := range []string{"clerk", "*"} {
		text, _ := answer(t, spec, perstack.Parts{Skills: map[string][]skill.Skill{key: tools}})
		if text != "Seven." {
			t.Errorf("for %s: %q", key, text)
		}
	}
	if text, err := perstack.Answer(t.Context(), spec, perstack.Parts{Skills: map[string][]skill.Skill{"other": tools}}); err == nil {
		t.Errorf("the tool of another Expert was called: %q", text)
	}
}
