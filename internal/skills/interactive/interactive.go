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
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/skill"
)

// New returns a skill with the tools that an Expert declares for the user.
func New(k *expert.Skill) skill.Skill {
	s := &userSkill{name: k.Name}
	for _, t := range k.Tools {
		s.tools = append(s.tools, skill.Tool{
			Name: t.Name, Description: t.Description, InputSchema: t.InputSchema, Kind: skill.Interactive,
		})
	}
	return s
}

type userSkill struct {
	name  string
	tools []skill.Tool
}

func (s *userSkill) Name() string { return s.name }

func (s *userSkill) Tools(context.Context) ([]skill.Tool, error) { return slices.Clone(s.tools), nil }

// Call fails: an engine that calls an interactive tool forgot to stop.
func (s *userSkill) Call(_ context.Context, call event.ToolCall) (event.ToolResult, error) {
	return event.ToolResult{}, fmt.Errorf("skill %q: tool %q is for the user and cannot be called", s.name, call.ToolName)
}

func (s *userSkill) Close() error { return nil }
