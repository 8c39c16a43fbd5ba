package base

import "context"

var _ = tools.add(define("clearTodo", (*Skill).clearTodo, repeatable, memoryOnly)) // an empty list stays empty

func (s *Skill) clearTodo(context.Context, noArgs) answer {
	s.notes.clear()
	return answer{body: todoList{[]todoItem{}}}
}
