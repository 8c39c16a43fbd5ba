package responses

import (
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/rawjson"
)

// A mark is what the provider wants to see again with a text or a call.
type mark struct {
	Type  string `json:"type,omitzero"` // of the text, if it is a refusal
	ID    string `json:"id,omitzero"`
	Phase string `json:"phase,omitzero"` // whether the text is on the way, or the answer
}

// A thought is what the provider wants to see again of a thought. What was thought is in
// the encrypted content; only the provider can read it.
type thought struct {
	Type      string        `json:"type"`
	ID        string        `json:"id,omitzero"`
	Summary   rawjson.Value `json:"summary"`
	Encrypted string        `json:"encrypted_content,omitzero"`
}

// runs are the items that a provider makes itself and takes back. Others, like the calls
// of a shell, would have to be answered.
var runs = []string{
	"web_search_call", "file_search_call", "code_interpreter_call", typeImageCall,
	"mcp_list_tools", "mcp_call", "compaction",
}

const typeImageCall = "image_generation_call"

// answer writes what a model said, in its order. Of others than this very one, it is the
// words and the calls alone: their marks mean nothing here.
//
// The API takes a thought only before the item that it led to, and refuses one without
// the other. So a thought that leads to nothing is left out, and what a lost thought led
// to goes without its id, as if somebody else had said it.
func (w *writer) answer(parts []event.Part) {
	var items []any
	torn := !w.own
	for i := range parts {
		p := &parts[i]
		switch p.Type {
		case event.TextPart:
			items = said(items, p, torn)
		case event.ToolCallPart:
			items = append(items, call(p, torn))
		case event.ThinkingPart:
			if back := thoughtOf(p); w.own && back != nil {
				items, torn = append(items, back), false
			} else {
				torn = true
			}
		case event.ProviderPart:
			if raw := w.ran(p); raw != nil && !torn {
				items = append(items, raw)
			} else {
				items, torn = withoutLastThoughts(items), true
			}
		}
	}
	for _, v := range withoutLastThoughts(items) {
		w.write(v)
	}
}

func withoutLastThoughts(items []any) []any {
	for len(items) > 0 {
		if _, ok := items[len(items)-1].(*thought); !ok {
			break
		}
		items = items[:len(items)-1]
	}
	return items
}

// said adds a text. Texts of one item become one item again.
func said(items []any, p *event.Part, torn bool) []any {
	if p.Text == "" {
		return items
	}
	m := markOf(p, torn)
	if m.ID == "" {
		return append(items, &item{Type: typeMessage, Role: roleAssistant, Content: p.Text})
	}
	c := content{Type: typeOutputText, Text: &p.Text, Annotations: &[]int{}}
	if m.Type == typeRefusal {
		c = content{Type: typeRefusal, Refusal: p.Text}
	}
	if n := len(items); n > 0 {
		if last, ok := items[n-1].(*item); ok && last.Type == typeMessage && last.ID == m.ID {
			last.Content = append(last.Content.([]content), c)
			return items
		}
	}
	return append(items, &item{
		Type: typeMessage, ID: m.ID, Role: roleAssistant, Status: "completed", Phase: m.Phase, Content: []content{c},
	})
}

func call(p *event.Part, torn bool) *item {
	arguments := string(wire.Object(p.Args))
	return &item{
		Type: typeCall, ID: markOf(p, torn).ID, CallID: callID(p.ToolCallID),
		Name: wire.ToolName(p.ToolName, maxName), Arguments: &arguments,
	}
}

func markOf(p *event.Part, torn bool) (m mark) {
	if torn || len(p.ProviderData) == 0 || wire.Decode(p.ProviderData, &m) != nil {
		return mark{}
	}
	return m
}

// thoughtOf is nil for a thought that cannot be read by anyone: the provider keeps none.
func thoughtOf(p *event.Part) *thought {
	var t thought
	if len(p.ProviderData) == 0 || wire.Decode(p.ProviderData, &t) != nil || t.Type != typeReasoning || t.ID == "" || t.Encrypted == "" {
		return nil
	}
	if t.Summary.Kind() != '[' {
		t.Summary = rawjson.Value("[]") // must be there
	}
	return &t
}

// ran is an item that the provider made itself, as it came; nil if it cannot be sent.
func (w *writer) ran(p *event.Part) rawjson.Value {
	var known struct {
		Type string `json:"type"`
	}
	switch {
	case !w.own, p.ProviderData.Kind() != '{', wire.Decode(p.ProviderData, &known) != nil, !slices.Contains(runs, known.Type):
		return nil
	case known.Type == typeImageCall && w.slim:
		return nil
	case known.Type == typeImageCall:
		w.weight += len(p.ProviderData)
	}
	return p.ProviderData
}
