package base

import (
	"fmt"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/rawjson"
)

const (
	maxTodos = 1000 // the list is recorded and sent with each change
	maxTitle = 2000 // bytes
)

// A todoItem is one item of the list. Its id is its place in it.
type todoItem struct {
	ID        int    `json:"id"`
	Title     string `json:"title"`
	Completed bool   `json:"completed"`
}

// A notebook is what the skill keeps for the length of a conversation.
type notebook struct {
	mu       sync.Mutex
	used     bool
	todos    []todoItem
	thoughts int64
}

// A record is a notebook as it is kept in the journal.
type record struct {
	Todos    []todoItem `json:"todos"`
	Thoughts int64      `json:"thoughts"`
}

// memory returns the notebook for the journal; nil while nothing was ever noted.
func (n *notebook) memory() rawjson.Value {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.used {
		return nil
	}
	v, err := json.Marshal(record{Todos: n.list(), Thoughts: n.thoughts})
	if err != nil {
		return nil // titles are cleaned before they are kept
	}
	return v
}

// list copies the todos; it is never nil, so that it encodes as an array.
func (n *notebook) list() []todoItem { return append([]todoItem{}, n.todos...) }

// update adds titles, then completes ids. Unknown ids are ignored.
func (n *notebook) update(titles []string, completed []float64) ([]todoItem, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.used = true
	if len(n.todos)+len(titles) > maxTodos {
		return nil, fmt.Errorf("a todo list holds at most %d items; clear it with clearTodo", maxTodos)
	}
	if slices.ContainsFunc(titles, func(title string) bool { return len(title) > maxTitle }) {
		return nil, fmt.Errorf("a todo is at most %d bytes long", maxTitle)
	}
	for _, title := range titles {
		n.todos = append(n.todos, todoItem{ID: len(n.todos), Title: clean(title)})
	}
	for _, id := range completed {
		if i := int(id); id >= 0 && id < maxTodos && float64(i) == id && i < len(n.todos) {
			n.todos[i].Completed = true
		}
	}
	return n.list(), nil
}

func (n *notebook) clear() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.used, n.todos = true, nil
}

// think counts a thought. The thought itself is in the conversation already.
func (n *notebook) think() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.used = true
	n.thoughts++
	return n.thoughts
}

// open returns the todos that are not completed.
func (n *notebook) open() []todoItem {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.DeleteFunc(n.list(), func(t todoItem) bool { return t.Completed })
}

// recall replaces what is kept. A record that does not fit leaves it as it is.
func (n *notebook) recall(v rawjson.Value) error {
	var m record
	if err := json.Unmarshal(v, &m, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("todo list: %w", err)
	}
	if len(m.Todos) > maxTodos || m.Thoughts < 0 {
		return fmt.Errorf("todo list: %d items and %d thoughts are out of range", len(m.Todos), m.Thoughts)
	}
	for i, t := range m.Todos {
		if t.ID != i {
			return fmt.Errorf("todo list: item %d has id %d", i, t.ID)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.used, n.todos, n.thoughts = true, m.Todos, m.Thoughts
	return nil
}
