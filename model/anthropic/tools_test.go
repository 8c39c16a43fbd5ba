package anthropic

import (
	"fmt"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/model"
)

// The Runs of one Expert share the text of their tools; another list has its own.
func TestToolsAreWrittenOnce(t *testing.T) {
	m := &Model{}
	request := func(name, description, schema string) *model.Request {
		return &model.Request{Tools: []model.Tool{{Name: name, Description: description, InputSchema: jsontext.Value(schema)}}}
	}
	first := m.tools(request("a", "b", `{"type":"object"}`))
	if again := m.tools(request("a", "b", `{"type":"object"}`)); &again[0] != &first[0] {
		t.Error("the same list was written twice")
	}
	for _, other := range []*model.Request{
		request("c", "b", `{"type":"object"}`), request("a", "c", `{"type":"object"}`), request("a", "b", `{"type":"object","required":["x"]}`),
		{Tools: append(request("a", "b", `{"type":"object"}`).Tools, model.Tool{Name: "more"})},
	} {
		if string(m.tools(other)) == string(first) {
			t.Errorf("%+v has the text of another list", other.Tools)
		}
	}
	if m.tools(&model.Request{}) != nil {
		t.Error("a request without tools has some")
	}
}

// A server that changes its list at every turn does not fill the memory.
func TestListsAreBounded(t *testing.T) {
	m := &Model{}
	for i := range 10 * maxLists {
		m.tools(&model.Request{Tools: []model.Tool{{Name: fmt.Sprintf("tool%d", i)}}})
	}
	if n := len(m.lists.kept); n != maxLists {
		t.Errorf("%d lists are kept, want %d", n, maxLists)
	}
}
