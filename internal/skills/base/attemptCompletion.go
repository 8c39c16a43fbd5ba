package base

import (
	"context"
	_ "embed"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

//go:embed attemptCompletion.md
var attemptCompletionText string

// nothing is the schema of a tool without arguments.
const nothing = `{"type":"object","properties":{},"additionalProperties":false}`

type noArgs struct{}

func (s *Skill) attemptCompletion() tool {
	return tool{
		Tool: skill.Tool{
			Name:        event.CompletionTool,
			Title:       "Attempt completion",
			Description: strings.TrimSpace(attemptCompletionText),
			InputSchema: jsontext.Value(nothing),
			Repeatable:  true, // it only reads the list
			ReadOnly:    true,
		},
		run: s.runAttemptCompletion,
	}
}

func (s *Skill) runAttemptCompletion(_ context.Context, call event.ToolCall) answer {
	if _, err := decode[noArgs](call.Args); err != nil {
		return refuseError(err)
	}
	return answer{body: struct {
		RemainingTodos []todoItem `json:"remainingTodos,omitempty"`
	}{s.notes.open()}}
}
