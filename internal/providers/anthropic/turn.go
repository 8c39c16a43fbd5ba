package anthropic

import (
	"cmp"
	"errors"
	"io"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// A turn is an answer in the making.
type turn struct {
	client *wire.Client
	draft  wire.Draft
	blocks []*growing
	open   map[int]*growing // by the number that the stream gives them
	usage  usage
	inside *sandbox // in which the provider ran code; nil if it did not
	reason string
	done   bool
}

// growing is a block of an answer while it arrives.
type growing struct {
	*wire.Growing
	kind      string
	signature strings.Builder // of a thought
	citations []rawjson.Value // of a text
	kept      *kept           // of a block that is not ours to understand
}

// message is one event of the stream, of any type.
type message struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage     usage         `json:"usage"`
		Container rawjson.Value `json:"container"`
	} `json:"message"`
	ContentBlock rawjson.Value `json:"content_block"` // what an unknown one holds is not known either
	Delta        struct {
		Type        string        `json:"type"`
		Text        string        `json:"text"`
		Thinking    string        `json:"thinking"`
		Signature   string        `json:"signature"`
		PartialJSON string        `json:"partial_json"`
		Citation    rawjson.Value `json:"citation"`
		StopReason  string        `json:"stop_reason"`
		Container   rawjson.Value `json:"container"`
	} `json:"delta"`
	Usage usage    `json:"usage"`
	Error apiError `json:"error"`
}

// read takes the events of a stream up to the last and tells what there is to tell.
func (t *turn) read(stream *wire.Stream, tell wire.Tell) error {
	for !t.done {
		e, err := stream.Next()
		switch {
		case errors.Is(err, io.EOF):
			return t.client.Incomplete()
		case err != nil:
			return err
		}
		chunk, err := t.take(e)
		if err == nil {
			err = t.draft.Check(t.client)
		}
		if err != nil {
			return err
		}
		if err := tell(chunk); err != nil {
			return err
		}
	}
	return nil
}

// take adds an event to the turn and returns what there is to tell.
func (t *turn) take(e wire.Event) (model.Chunk, error) {
	if e.Name == "ping" {
		return model.Chunk{}, nil
	}
	var m message
	if err := wire.Decode(e.Data, &m); err != nil {
		// The deltas of a block that we do not know may have members of other types.
		if t.isKept(e.Data) {
			return model.Chunk{}, nil
		}
		return model.Chunk{}, t.client.Malformed(err)
	}
	switch m.Type {
	case "message_start":
		t.usage.update(m.Message.Usage)
		t.inside = sandboxOf(m.Message.Container)
	case "content_block_start":
		return t.start(m.Index, m.ContentBlock)
	case "content_block_delta":
		return t.grow(&m, e.Data), nil
	case "message_delta":
		t.usage.update(m.Usage)
		t.inside = cmp.Or(sandboxOf(m.Delta.Container), t.inside)
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

func (t *turn) start(index int, raw rawjson.Value) (model.Chunk, error) {
	var kind struct {
		Type string `json:"type"`
	}
	if err := wire.Decode(raw, &kind); err != nil {
		return model.Chunk{}, t.client.Malformed(err)
	}
	if kind.Type == "" {
		return model.Chunk{}, t.client.Malformed(errors.New("a block without a type"))
	}
	g := &growing{kind: kind.Type}
	if t.open == nil {
		t.open = map[int]*growing{}
	}
	t.open[index] = g
	t.blocks = append(t.blocks, g)
	var b struct {
		Text      string        `json:"text"`
		Thinking  string        `json:"thinking"`
		Signature string        `json:"signature"`
		Data      string        `json:"data"`
		ID        string        `json:"id"`
		Name      string        `json:"name"`
		Input     rawjson.Value `json:"input"`
	}
	switch kind.Type {
	case typeText, typeThinking, typeRedacted, typeToolUse:
		if err := wire.Decode(raw, &b); err != nil {
			return model.Chunk{}, t.client.Malformed(err)
		}
	default: // new, or about what the provider ran itself
		g.Growing, g.kept = t.draft.Open(event.ProviderPart), keep(raw)
		g.ToolName = g.kept.toolName()
		return model.Chunk{}, nil
	}
	switch kind.Type {
	case typeText:
		g.Growing = t.draft.Open(event.TextPart)
		g.Write(b.Text)
		return model.Chunk{Text: b.Text}, nil
	case typeThinking:
		g.Growing = t.draft.Open(event.ThinkingPart)
		g.signature.WriteString(b.Signature)
		g.Write(b.Thinking)
		return model.Chunk{Reasoning: b.Thinking}, nil
	case typeRedacted:
		g.Growing = t.draft.Open(event.ThinkingPart)
		g.ProviderData = marshal(block{Type: typeRedacted, Data: b.Data})
	case typeToolUse:
		g.Growing = t.draft.Open(event.ToolCallPart)
		g.ToolCallID, g.ToolName, g.Args = b.ID, b.Name, b.Input
	}
	return model.Chunk{}, nil
}

func (t *turn) grow(m *message, raw []byte) model.Chunk {
	g := t.open[m.Index]
	if g == nil {
		return model.Chunk{}
	}
	if g.kept != nil {
		g.kept.fold(raw)
		return model.Chunk{}
	}
	d := &m.Delta
	switch {
	case g.kind == typeText && d.Type == "text_delta":
		g.Write(d.Text)
		return model.Chunk{Text: d.Text}
	case g.kind == typeText && d.Type == "citations_delta":
		g.citations = append(g.citations, d.Citation)
	case g.kind == typeThinking && d.Type == "thinking_delta":
		g.Write(d.Thinking)
		return model.Chunk{Reasoning: d.Thinking}
	case g.kind == typeThinking && d.Type == "signature_delta":
		g.signature.WriteString(d.Signature)
	case g.kind == typeToolUse && d.Type == "input_json_delta":
		g.Write(d.PartialJSON)
	}
	return model.Chunk{}
}

// isKept folds an event into a block that we do not know, if it is for one.
func (t *turn) isKept(raw []byte) bool {
	var m struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
	}
	if wire.Decode(raw, &m) != nil || m.Type != "content_block_delta" {
		return false
	}
	g := t.open[m.Index]
	if g == nil || g.kept == nil {
		return false
	}
	g.kept.fold(raw)
	return true
}

// answer is the turn, when it is done.
func (t *turn) answer() *model.Answer {
	for _, g := range t.blocks {
		switch {
		case g.kept != nil:
			g.ProviderData = g.kept.value()
		case g.kind == typeThinking:
			g.Signature = g.signature.String()
		case len(g.citations) > 0:
			g.ProviderData = cited(g.citations)
		}
	}
	parts := t.draft.Parts()
	if t.inside != nil {
		parts = append([]event.Part{t.inside.part()}, parts...)
	}
	return &model.Answer{Parts: parts, Usage: t.usage.total(), Finish: finish(t.reason), Reason: t.reason}
}

func finish(reason string) model.Finish {
	switch reason {
	case "end_turn", "stop_sequence":
		return model.FinishStop
	case "pause_turn":
		return model.FinishPause
	case "tool_use":
		return model.FinishToolCalls
	case "max_tokens", "model_context_window_exceeded":
		return model.FinishLength
	case "refusal":
		return model.FinishContentFilter
	}
	return model.FinishOther
}

// usage is what an event says was used so far. Absent is not 0: later events leave out
// what has not changed.
type usage struct {
	Input         *int64 `json:"input_tokens"`
	CacheRead     *int64 `json:"cache_read_input_tokens"`
	CacheCreation *int64 `json:"cache_creation_input_tokens"`
	Output        *int64 `json:"output_tokens"`
	Details       *struct {
		Thinking int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

func (u *usage) update(v usage) {
	for _, f := range []struct{ old, now **int64 }{
		{&u.Input, &v.Input}, {&u.CacheRead, &v.CacheRead}, {&u.CacheCreation, &v.CacheCreation}, {&u.Output, &v.Output},
	} {
		if *f.now != nil {
			*f.old = *f.now
		}
	}
	if v.Details != nil {
		u.Details = v.Details
	}
}

// total counts what was read from the cache, and written to it, as input: the provider
// counts them beside it.
func (u *usage) total() event.Usage {
	cached := wire.Tokens(u.CacheRead)
	total := event.Usage{
		InputTokens:       wire.Tokens(u.Input) + cached + wire.Tokens(u.CacheCreation),
		CachedInputTokens: cached,
		OutputTokens:      wire.Tokens(u.Output),
	}
	if u.Details != nil {
		total.ReasoningTokens = wire.Tokens(&u.Details.Thinking)
	}
	total.TotalTokens = total.InputTokens + total.OutputTokens
	return total
}
