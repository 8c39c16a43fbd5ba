package base

import "context"

type todoArgs struct {
	NewTodos       []string  `json:"newTodos,omitzero" jsonschema:"titles of items to add"`
	CompletedTodos []float64 `json:"completedTodos,omitzero" jsonschema:"ids of items to mark as completed"` // fractions are ignored, not an error
}

var _ = tools.add(define("todo", (*Skill).todo, memoryOnly)) // a second run adds the items again

// A todoList is the body of the answers of todo and clearTodo.
type todoList struct {
	Todos []todoItem `json:"todos"`
}

func (s *Skill) todo(_ context.Context, args todoArgs) answer {
	todos, err := s.notes.update(args.NewTodos, args.CompletedTodos)
	if err != nil {
		return refuse(codeTooLarge, err.Error())
	}
	return answer{body: todoList{todos}}
}
