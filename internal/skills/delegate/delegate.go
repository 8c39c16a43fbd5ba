// Package delegate offers another Expert as a tool: a model asks, that Expert works, and
// its answer is the result.
//
// The package never runs anything. The engine knows these tools by their kind and starts
// a Run where another tool would be called. Start reading at [New].
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

// New returns a skill with one tool, which delegates to an Expert.
func New(e *expert.Expert) skill.Skill {
	return &delegate{name: e.Name, tool: skill.Tool{
		Name:        expert.Key{Name: e.Name}.ToolName(),
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
