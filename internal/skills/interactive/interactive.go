// Package interactive offers tools that the user carries out: a model asks, the run
// stops, and the answer arrives with the next query.
//
// The package never runs anything. The engine knows these tools by their kind and
// stops the run where another tool would be called. Start reading at [New].
package interactive

import (
	"context"
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

// New returns a skill that lists tools for the user to carry out.
func New(name string, tools []skill.Tool) skill.Skill {
	s := &asked{name: name, tools: slices.Clone(tools)}
	for i := range s.tools {
		s.tools[i].Kind = skill.Interactive
	}
	return s
}

type asked struct {
	name  string
	tools []skill.Tool
}

func (s *asked) Name() string { return s.name }

func (s *asked) Tools(context.Context) ([]skill.Tool, error) { return slices.Clone(s.tools), nil }

// Call fails: an engine that calls an interactive tool forgot to stop.
func (s *asked) Call(_ context.Context, call event.ToolCall) (event.ToolResult, error) {
	return event.ToolResult{}, fmt.Errorf("skill %q: tool %q is for the user and cannot be called", s.name, call.ToolName)
}

func (s *asked) Close() error { return nil }
