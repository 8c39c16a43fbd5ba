package engine

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
)

// completed reports whether the Expert declared itself done and was believed.
func completed(calls []Call) bool {
	return slices.ContainsFunc(calls, func(c Call) bool {
		return isCompletion(c.ToolCall) && c.Result != nil && isAccepted(*c.Result)
	})
}

func isCompletion(c event.ToolCall) bool {
	return c.SkillName == event.BaseSkill && c.ToolName == event.CompletionTool
}

// isAccepted reports whether a completion went through: no failure, no open todos.
func isAccepted(result event.ToolResult) bool {
	if result.IsError {
		return false
	}
	var answer struct {
		RemainingTodos []jsontext.Value `json:"remainingTodos"`
	}
	text := event.FirstText(result.Result)
	return json.Unmarshal([]byte(text), &answer) == nil && len(answer.RemainingTodos) == 0
}
