package base

import (
	"context"
	_ "embed"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

//go:embed todo.md
var todoText string

const todoSchema = `{
	"type": "object",
	"properties": {
		"newTodos": {"type": "array", "items": {"type": "string"}, "description": "titles of items to add"},
		"completedTodos": {"type": "array", "items": {"type": "number"}, "description": "ids of items to mark as completed"}
	},
	"additionalProperties": false
}`

type todoArgs struct {
	NewTodos       []string  `json:"newTodos"`
	CompletedTodos []float64 `json:"completedTodos"` // fractions are ignored, not an error
}

// A todoList is the body of the answers of todo and clearTodo.
type todoList struct {
	Todos []todoItem `json:"todos"`
}

func (s *Skill) todo() tool {
	return tool{
		Tool: skill.Tool{
			Name:        "todo",
			Title:       "Todo list",
			Description: strings.TrimSpace(todoText),
			InputSchema: jsontext.Value(todoSchema),
			Repeatable:  false, // a second run adds the items again
		},
		run: s.runTodo,
	}
}

func (s *Skill) runTodo(_ context.Context, call event.ToolCall) answer {
	args, err := decode[todoArgs](call.Args)
	if err != nil {
		return refuseError(err)
	}
	todos, err := s.notes.update(args.NewTodos, args.CompletedTodos)
	if err != nil {
		return refuse(codeTooLarge, err.Error())
	}
	return answer{body: todoList{todos}}
}
