// Package delegate offers another Expert as a tool: a model asks, that Expert works, and
// its answer is the result.
//
// The package never runs anything. The engine knows these tools by their kind and starts
// a Run where another tool would be called. Start reading at [All].
package delegate

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

//go:embed delegate.md
var explanation string

// Unknown arguments are refused: the other Expert would not get them.
const schema = `{"type":"object","properties":{"query":{"type":"string","minLength":1,"description":"the whole task, with all that is needed for it"}},"required":["query"],"additionalProperties":false}`

// All returns a skill for each Expert, with one tool that delegates to it. The tools have the names of
// [expert.DelegateTools].
func All(experts ...*expert.Expert) (all []skill.Skill) {
	names := make([]string, len(experts))
	for i, e := range experts {
		names[i] = e.Name
	}
	for i, tool := range expert.DelegateTools(names) {
		all = append(all, newDelegate(experts[i], tool))
	}
	return all
}

func newDelegate(e *expert.Expert, tool string) *delegate {
	return &delegate{name: e.Name, tool: skill.Tool{
		Name:        tool,
		Title:       e.Name,
		Description: describe(e),
		InputSchema: rawjson.Value(schema),
		Kind:        skill.Delegate,
	}}
}

// describe describes the Expert for the model. Its own description is untrusted: it comes last and
// is marked, so that it does not look like our text. The toolbox reveals invisible characters.
func describe(e *expert.Expert) string {
	text := fmt.Sprintf("Ask the Expert %q. %s", e.Name, strings.TrimSpace(explanation))
	if said := strings.TrimSpace(e.Description); said != "" {
		text += "\n\nWhat it says about itself:\n" + said
	}
	return text
}

type delegate struct {
	name string
	tool skill.Tool
}

func (d *delegate) Name() string { return d.name }

func (d *delegate) Tools(context.Context) ([]skill.Tool, error) {
	tool := d.tool
	tool.InputSchema = tool.InputSchema.Clone()
	return []skill.Tool{tool}, nil
}

// Call fails: an engine that calls a delegate forgot to start its Run.
func (d *delegate) Call(_ context.Context, call event.ToolCall) (event.ToolResult, error) {
	return event.ToolResult{}, fmt.Errorf("delegate %q: tool %q is another Expert and cannot be called", d.name, call.ToolName)
}

func (d *delegate) Close() error { return nil }
