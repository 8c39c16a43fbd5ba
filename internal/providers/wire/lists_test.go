package wire

import (
	"fmt"
	"testing"

	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// The Runs of one Expert share the text of their tools; another list has its own.
func TestListsAreWrittenOnce(t *testing.T) {
	var lists Lists
	writes := 0
	get := func(tools ...model.Tool) []byte {
		return lists.Get(tools, func(tools []model.Tool) []byte {
			writes++
			return fmt.Append(nil, tools)
		})
	}
	tool := func(name, description, schema string) model.Tool {
		return model.Tool{Name: name, Description: description, InputSchema: rawjson.Value(schema)}
	}
	first := get(tool("a", "b", `{"type":"object"}`))
	if again := get(tool("a", "b", `{"type":"object"}`)); &again[0] != &first[0] || writes != 1 {
		t.Errorf("the same list was written %d times", writes)
	}
	for i, other := range [][]model.Tool{
		{tool("c", "b", `{"type":"object"}`)}, {tool("a", "c", `{"type":"object"}`)}, {tool("a", "b", `{"type":"object","required":["x"]}`)},
		{tool("a", "b", `{"type":"object"}`), {Name: "more"}}, nil,
	} {
		if got := get(other...); string(got) == string(first) || writes != i+2 {
			t.Errorf("%+v has the text of another list", other)
		}
	}
}

// A server that changes its list at every turn does not fill the memory.
func TestListsAreBounded(t *testing.T) {
	var lists Lists
	for i := range 10 * maxLists {
		lists.Get([]model.Tool{{Name: fmt.Sprintf("tool%d", i)}}, func([]model.Tool) []byte { return nil })
	}
	if n := len(lists.kept); n != maxLists {
		t.Errorf("%d lists are kept, want %d", n, maxLists)
	}
}

// Changing the returned tools does not change the table.
func TestListsKeepTheirOwn(t *testing.T) {
	var lists Lists
	tools := []model.Tool{{Name: "a"}}
	name := func(tools []model.Tool) []byte { return []byte(tools[0].Name) }
	lists.Get(tools, name)
	tools[0].Name = "b"
	if got := lists.Get(tools, name); string(got) != "b" {
		t.Errorf("b has the text of %s", got)
	}
}
