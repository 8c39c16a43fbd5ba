package base

import (
	"context"

	"github.com/perstack-go/perstack/event"
)

var _ = tools.add(define(event.CompletionTool, (*Skill).attemptCompletion, readOnly))

func (s *Skill) attemptCompletion(context.Context, noArgs) answer {
	return answer{body: struct {
		RemainingTodos []todoItem `json:"remainingTodos,omitempty"`
	}{s.notes.open()}}
}
