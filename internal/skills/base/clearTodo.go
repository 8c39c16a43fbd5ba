package base

import (
	"context"
	_ "embed"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

//go:embed clearTodo.md
var clearTodoText string

func (s *Skill) clearTodo() tool {
	return tool{
		Tool: skill.Tool{
			Name:        "clearTodo",
			Title:       "Clear todo list",
			Description: strings.TrimSpace(clearTodoText),
			InputSchema: jsontext.Value(nothing),
			Repeatable:  true, // an empty list stays empty
		},
		run: s.runClearTodo,
	}
}

func (s *Skill) runClearTodo(_ context.Context, call event.ToolCall) answer {
	if _, err := decode[noArgs](call.Args); err != nil {
		return refuseError(err)
	}
	s.notes.clear()
	return answer{body: todoList{[]todoItem{}}}
}
