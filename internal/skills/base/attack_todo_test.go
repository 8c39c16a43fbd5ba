package base_test

import (
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

func TestB25OpenTodos(t *testing.T) {
	b := newBench(t)
	b.call("todo", object{"newTodos": []string{"one", "two"}, "completedTodos": []int{0}})
	text, r := b.call("attemptCompletion", nil)
	if r.IsError || text != `{"remainingTodos":[{"id":1,"title":"two","completed":false}]}` {
		t.Error(text)
	}
	b.call("todo", object{"completedTodos": []int{1}})
	if text, _ := b.call("attemptCompletion", nil); text != `{}` {
		t.Error(text)
	}
}

func TestB26UnknownTodos(t *testing.T) {
	b := newBench(t)
	b.call("todo", object{"newTodos": []string{"one"}})
	text, r := b.call("todo", `{"completedTodos":[7,-1,0.5,1e300,-0.5,1e-300,99999999999999999999]}`)
	if r.IsError || text != `{"todos":[{"id":0,"title":"one","completed":false}]}` {
		t.Error(text)
	}
}

// N16: todos belong to one skill, which belongs to one conversation.
func TestN16Isolated(t *testing.T) {
	b := newBench(t)
	ws, err := workspace.Open(b.dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	b.call("todo", object{"newTodos": []string{"mine"}})
	if text, _ := callWith(t.Context(), t, newSkill(ws), "attemptCompletion", nil); text != `{}` {
		t.Errorf("another conversation sees %s", text)
	}
	if text, _ := callWith(t.Context(), t, newSkill(ws), "todo", nil); text != `{"todos":[]}` {
		t.Errorf("another conversation sees %s", text)
	}
}
