package anthropic

import (
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/model/wire"
)

// A turn is an answer in the making.
type turn struct {
	client *wire.Client
	blocks []*growing
	open   map[int]*growing // by the number that the stream gives them
	usage  usage
	reason string
	done   bool
}

// growing is a block of an answer while it arrives.
type growing struct {
	kind      string
	id, name  string
	data      string
	input     jsontext.Value // given at the start
	text      strings.Builder
	signature strings.Builder
}

// message is one event of the stream, of any type.
type message struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage usage `json:"usage"`
	} `json:"message"`
	ContentBlock jsontext.Value `json:"content_block"` // what an unknown one holds is not known either
	Delta        struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		Signature   string `json:"signature"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage    `json:"usage"`
	Error apiError `json:"error"`
}

// read takes the events of a stream up to the last and tells what there is to tell.
func (t *turn) read(stream *wire.Stream, tell func(model.Chunk) bool) error {
	for !t.done {
		e, err := stream.Next()
		switch {
		case errors.Is(err, io.EOF):
			return t.client.Incomplete()
		case err != nil:
			return err
		}
		chunk, err := t.take(e)
		switch {
		case err != nil:
			return err
		case chunk != (model.Chunk{}) && !tell(chunk):
			return errUnheard
		}
	}
	return nil
}

// paid adds to an error what was counted before it: the input at least is billed, from
// the first event on.
func (t *turn) paid(err error) error {
	if used := t.usage.total(); used.TotalTokens > 0 {
		return model.WithUsage(err, used)
	}
	return err
}

// take adds an event to the turn and returns what there is to tell.
func (t *turn) take(e wire.Event) (model.Chunk, error) {
	if e.Name == "ping" {
		return model.Chunk{}, nil
	}
	var m message
	if err := wire.Decode(e.Data, &m); err != nil {
		return model.Chunk{}, t.client.Malformed(err)
	}
	switch m.Type {
	case "message_start":
		t.usage.update(m.Message.Usage)
	case "content_block_start":
		return t.start(m.Index, m.ContentBlock)
	case "content_block_delta":
		return t.grow(&m), nil
	case "message_delta":
		t.usage.update(m.Usage)
		if m.Delta.StopReason != "" {
			t.reason = m.Delta.StopReason
		}
	case "message_stop":
		t.done = true
	case "error":
		return model.Chunk{}, t.client.Failure(m.Error.status(), m.Error.problem())
	}
	return model.Chunk{}, nil
}

func (t *turn) start(index int, raw jsontext.Value) (model.Chunk, error) {
	g := &growing{}
	if t.open == nil {
		t.open = map[int]*growing{}
	}
	t.open[index] = g // also if it is of no use, so that its deltas find no other
	var kind struct {
		Type string `json:"type"`
	}
	if err := wire.Decode(raw, &kind); err != nil {
		return model.Chunk{}, t.client.Malformed(err)
	}
	var b block
	switch kind.Type {
	case typeText, typeThinking, typeRedacted, typeToolUse:
		if err := wire.Decode(raw, &b); err != nil {
			return model.Chunk{}, t.client.Malformed(err)
		}
	default: // new, or about what the provider ran itself
		return model.Chunk{}, nil
	}
	g.kind, g.id, g.name, g.data, g.input = b.Type, b.ID, b.Name, b.Data, b.Input
	g.signature.WriteString(b.Signature)
	t.blocks = append(t.blocks, g)
	switch {
	case b.Type == typeThinking && b.Thinking != nil:
		g.text.WriteString(*b.Thinking)
		return model.Chunk{Reasoning: *b.Thinking}, nil
	case b.Type == typeText:
		g.text.WriteString(b.Text)
		return model.Chunk{Text: b.Text}, nil
	}
	return model.Chunk{}, nil
}

func (t *turn) grow(m *message) model.Chunk {
	g := t.open[m.Index]
	if g == nil {
		return model.Chunk{}
	}
	d := &m.Delta
	switch {
	case g.kind == typeText && d.Type == "text_delta":
		g.text.WriteString(d.Text)
		return model.Chunk{Text: d.Text}
	case g.kind == typeThinking && d.Type == "thinking_delta":
		g.text.WriteString(d.Thinking)
		return model.Chunk{Reasoning: d.Thinking}
	case g.kind == typeThinking && d.Type == "signature_delta":
		g.signature.WriteString(d.Signature)
	case g.kind == typeToolUse && d.Type == "input_json_delta":
		g.text.WriteString(d.PartialJSON)
	}
	return model.Chunk{}
}

// answer is the turn, when it is done.
func (t *turn) answer() *model.Answer {
	a := &model.Answer{Usage: t.usage.total(), Finish: finish(t.reason)}
	var text strings.Builder
	for _, g := range t.blocks {
		switch g.kind {
		case typeText:
			text.WriteString(g.text.String())
		case typeThinking:
			a.Thinking = append(a.Thinking, model.Thinking{Text: g.text.String(), Signature: g.signature.String()})
		case typeRedacted:
			a.Thinking = append(a.Thinking, model.Thinking{ProviderData: marshal(block{Type: typeRedacted, Data: g.data})})
		case typeToolUse:
			args := []byte(g.text.String())
			if len(args) == 0 {
				args = g.input
			}
			a.Calls = append(a.Calls, model.Call{ID: g.id, Tool: g.name, Args: args})
		}
	}
	a.Text = text.String()
	return a
}

func finish(reason string) model.Finish {
	switch reason {
	case "end_turn", "stop_sequence", "pause_turn":
		return model.FinishStop
	case "tool_use":
		return model.FinishToolCalls
	case "max_tokens", "model_context_window_exceeded":
		return model.FinishLength
	case "refusal":
		return model.FinishContentFilter
	}
	return model.FinishOther
}
