package responses

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

type turn struct {
	client *wire.Client
	draft  wire.Draft
	open   map[place]*wire.Growing
	ended  map[int]bool // items that are complete, by their place
	usage  usage

	called  bool
	refused bool // in words
	finish  model.Finish
	reason  string

	elsewhere bool // the server is not OpenAI's
}

// A place says where something is in the answer: the number of its item, and the
// number of its content in it. Thoughts and calls have one content.
type place struct{ item, content int }

// message is one event of the stream, of any type. What has one shape in some types and
// another in others is looked at later.
type message struct {
	Type     string        `json:"type"`
	Item     int           `json:"output_index"`
	Content  int           `json:"content_index"`
	Summary  int           `json:"summary_index"`
	Value    rawjson.Value `json:"item"`
	Delta    words         `json:"delta"`
	Response rawjson.Value `json:"response"`
	Error    rawjson.Value `json:"error"`
}

// words are a text, without a copy in between: an answer has many of them. What is none
// belongs to an unknown event.
type words string

func (w *words) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '"' {
		return dec.SkipValue()
	}
	token, err := dec.ReadToken()
	if err == nil {
		*w = words(token.String())
	}
	return err
}

// Read takes the events of a stream up to the last and tells what there is to tell.
func (t *turn) Read(stream *wire.Stream, tell wire.Tell) error {
	t.open, t.ended = map[place]*wire.Growing{}, map[int]bool{}
	return wire.Collect(t.client, &t.draft, stream.Next, func(e wire.Event) (last bool, err error) {
		if string(e.Data) != "[DONE]" { // of servers that speak another API as well
			err = t.take(e, tell)
		}
		return t.finish != "", err
	})
}

func (t *turn) take(e wire.Event, tell wire.Tell) error {
	var m message
	if err := wire.Decode(e.Data, &m); err != nil {
		return t.client.Malformed(err)
	}
	switch cmp.Or(m.Type, e.Name) {
	case "response.output_item.added":
		return t.begin(m.Item, m.Value)
	case "response.output_item.done":
		return t.end(m.Item, m.Value, tell)
	case "response.output_text.delta", "response.refusal.delta":
		return t.grow(event.TextPart, place{m.Item, m.Content}, &m, tell)
	case "response.reasoning_summary_part.added":
		if g := t.open[place{m.Item, 0}]; m.Summary > 0 && g != nil && g.Len() > 0 {
			return g.Tell("\n\n", tell)
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		return t.grow(event.ThinkingPart, place{m.Item, 0}, &m, tell)
	case "response.function_call_arguments.delta":
		return t.grow(event.ToolCallPart, place{m.Item, 0}, &m, tell)
	case "response.completed", "response.incomplete", "response.failed":
		return t.last(cmp.Or(m.Type, e.Name), m.Response, tell)
	case "error":
		if m.Error.Kind() == '{' {
			return t.failed(readError(m.Error))
		}
		failed := readError(e.Data) // what is documented: its members are beside the type
		failed.Type = ""
		return t.failed(failed)
	}
	return nil
}

func readError(raw rawjson.Value) (e wire.OpenAIError) {
	_ = e.UnmarshalJSON(raw) // what is odd stays out
	return e
}

func (t *turn) failed(e wire.OpenAIError) error { return t.client.Failure(e.Status(), e.Problem()) }

// at returns the part at a place, which may be new.
func (t *turn) at(kind event.PartType, where place) *wire.Growing {
	g := t.open[where]
	if g == nil {
		g = t.draft.Open(kind)
		t.open[where] = g
	}
	return g
}

func (t *turn) grow(kind event.PartType, where place, m *message, tell wire.Tell) error {
	if g := t.at(kind, where); g.Type == kind { // else it is nonsense
		return g.Tell(string(m.Delta), tell)
	}
	return nil
}

// output is an item of an answer, as far as we look at it.
type output struct {
	Type      string        `json:"type"`
	ID        string        `json:"id"`
	Phase     string        `json:"phase"`
	CallID    string        `json:"call_id"`
	Name      string        `json:"name"`
	Arguments rawjson.Value `json:"arguments"`
	Content   rawjson.Value `json:"content"`
	Summary   rawjson.Value `json:"summary"`
	Encrypted string        `json:"encrypted_content"`
}

// begin keeps the place of an item. That of a message is kept by its words, since there
// may be several.
func (t *turn) begin(at int, raw rawjson.Value) error {
	o, err := t.output(raw)
	if err != nil {
		return err
	}
	switch o.Type {
	case typeReasoning:
		t.at(event.ThinkingPart, place{at, 0})
	case typeCall:
		t.call(at, o)
	}
	return nil
}

func (t *turn) output(raw rawjson.Value) (o output, err error) {
	var kind struct {
		Type string `json:"type"`
	}
	if err := wire.Decode(raw, &kind); err != nil {
		return o, t.client.Malformed(err)
	}
	switch kind.Type {
	case typeMessage, typeCall, typeReasoning:
		if err := wire.Decode(raw, &o); err != nil {
			return o, t.client.Malformed(err)
		}
	}
	o.Type = kind.Type // of others, nothing else is known
	return o, nil
}

func (t *turn) call(at int, o output) *wire.Growing {
	t.called = true
	g := t.at(event.ToolCallPart, place{at, 0})
	g.ToolCallID = cmp.Or(o.CallID, g.ToolCallID)
	if o.Name != "" {
		g.ToolName = o.Name
	}
	if g.ProviderData == nil && o.ID != "" {
		g.ProviderData = marshal(mark{ID: o.ID})
	}
	return g
}

// end completes an item. Words that came before are not looked at again.
func (t *turn) end(at int, raw rawjson.Value, tell wire.Tell) error {
	o, err := t.output(raw)
	if err != nil || t.ended[at] {
		return err
	}
	t.ended[at] = true
	switch o.Type {
	case typeMessage:
		return t.endMessage(at, o, tell)
	case typeReasoning:
		return t.endThought(at, o, tell)
	case typeCall:
		if g := t.call(at, o); g.Len() == 0 {
			g.Write(wire.Word(o.Arguments))
		}
	case "":
	default: // the provider ran it
		g := t.draft.Open(event.ProviderPart)
		g.ToolName, g.ProviderData = strings.TrimSuffix(o.Type, "_call"), raw
	}
	return nil
}

func (t *turn) endMessage(at int, o output, tell wire.Tell) error {
	var list []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	if o.Content.Kind() == '[' {
		if err := wire.Decode(o.Content, &list); err != nil {
			return t.client.Malformed(err)
		}
	}
	for i, c := range list {
		if c.Type != typeOutputText && c.Type != typeRefusal {
			continue
		}
		g := t.at(event.TextPart, place{at, i})
		if g.Len() == 0 {
			if err := g.Tell(c.Text+c.Refusal, tell); err != nil {
				return err
			}
		}
		m := mark{ID: o.ID, Phase: o.Phase}
		if c.Type == typeRefusal {
			m.Type, t.refused = typeRefusal, true
		}
		if g.Len() > 0 && m.ID != "" {
			g.ProviderData = marshal(m)
		}
	}
	return nil
}

func (t *turn) endThought(at int, o output, tell wire.Tell) error {
	g := t.at(event.ThinkingPart, place{at, 0})
	var list []struct {
		Text string `json:"text"`
	}
	for _, raw := range []rawjson.Value{o.Summary, o.Content} {
		if g.Len() > 0 || raw.Kind() != '[' {
			continue
		}
		if err := wire.Decode(raw, &list); err != nil {
			return t.client.Malformed(err)
		}
		var texts []string
		for _, c := range list {
			texts = append(texts, c.Text)
		}
		if err := g.Tell(strings.Join(texts, "\n\n"), tell); err != nil {
			return err
		}
	}
	if o.ID != "" {
		if o.Summary.Kind() != '[' {
			o.Summary = rawjson.Value("[]")
		}
		g.ProviderData = marshal(thought{typeReasoning, o.ID, o.Summary, o.Encrypted})
	}
	return nil
}

func marshal(v any) rawjson.Value { return wire.Marshal(v, nil) }
