package anthropic

import (
	"cmp"
	"errors"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

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
		Usage     *usage        `json:"usage"`
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
	Usage *usage   `json:"usage"`
	Error apiError `json:"error"`
}

// Read takes the events of a stream up to the last and tells what there is to tell.
func (t *turn) Read(stream *wire.Stream, tell wire.Tell) error {
	return wire.Collect(t.client, &t.draft, stream.Next, func(e wire.Event) (last bool, err error) {
		err = t.take(e, tell)
		return t.done, err
	})
}

func (t *turn) take(e wire.Event, tell wire.Tell) error {
	if e.Name == "ping" {
		return nil
	}
	m := message{Usage: &t.usage} // later events leave out what has not changed
	m.Message.Usage = &t.usage
	if err := wire.Decode(e.Data, &m); err != nil {
		// The deltas of a block that we do not know may have members of other types.
		if t.isKept(e.Data) {
			return nil
		}
		return t.client.Malformed(err)
	}
	switch m.Type {
	case "message_start":
		t.inside = sandboxOf(m.Message.Container)
	case "content_block_start":
		return t.start(m.Index, m.ContentBlock, tell)
	case "content_block_delta":
		return t.grow(&m, e.Data, tell)
	case "message_delta":
		t.inside = cmp.Or(sandboxOf(m.Delta.Container), t.inside)
		if m.Delta.StopReason != "" {
			t.reason = m.Delta.StopReason
		}
	case "message_stop":
		t.done = true
	case "error":
		return t.client.Failure(m.Error.status(), m.Error.problem())
	}
	return nil
}

func (t *turn) start(index int, raw rawjson.Value, tell wire.Tell) error {
	g := &growing{kind: typeOf(raw)}
	if g.kind == "" {
		return t.client.Malformed(errors.New("a block without a type"))
	}
	if t.open == nil {
		t.open = map[int]*growing{}
	}
	t.open[index] = g
	t.blocks = append(t.blocks, g)
	kind, known := partTypes[g.kind]
	if !known { // new, or about what the provider ran itself
		g.Growing, g.kept = t.draft.Open(event.ProviderPart), keep(raw)
		g.ToolName = g.kept.toolName()
		return nil
	}
	var b struct { // gateways write what they like into the others
		Text      string        `json:"text"`
		Thinking  string        `json:"thinking"`
		Signature string        `json:"signature"`
		Data      string        `json:"data"`
		ID        string        `json:"id"`
		Name      string        `json:"name"`
		Input     rawjson.Value `json:"input"`
	}
	if err := wire.Decode(raw, &b); err != nil {
		return t.client.Malformed(err)
	}
	g.Growing = t.draft.Open(kind)
	switch g.kind {
	case typeText:
		return g.Tell(b.Text, tell)
	case typeThinking:
		g.signature.WriteString(b.Signature)
		return g.Tell(b.Thinking, tell)
	case typeRedacted:
		g.ProviderData = marshal(block{Type: typeRedacted, Data: b.Data})
	case typeToolUse:
		g.ToolCallID, g.ToolName, g.Args = b.ID, b.Name, b.Input
	}
	return nil
}

// partTypes are what the blocks become that are ours to understand.
var partTypes = map[string]event.PartType{
	typeText: event.TextPart, typeThinking: event.ThinkingPart, typeRedacted: event.ThinkingPart, typeToolUse: event.ToolCallPart,
}

func (t *turn) grow(m *message, raw []byte, tell wire.Tell) error {
	g, d := t.open[m.Index], &m.Delta
	switch {
	case g == nil:
	case g.kept != nil:
		g.kept.fold(raw)
	case g.kind == typeText && d.Type == "text_delta":
		return g.Tell(d.Text, tell)
	case g.kind == typeText && d.Type == "citations_delta":
		g.citations = append(g.citations, d.Citation)
	case g.kind == typeThinking && d.Type == "thinking_delta":
		return g.Tell(d.Thinking, tell)
	case g.kind == typeThinking && d.Type == "signature_delta":
		g.signature.WriteString(d.Signature)
	case g.kind == typeToolUse && d.Type == "input_json_delta":
		g.Write(d.PartialJSON)
	}
	return nil
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

func (t *turn) Answer() (*model.Answer, error) {
	for _, g := range t.blocks {
		switch {
		case g.kept != nil:
			g.ProviderData = g.kept.value()
		case g.kind == typeThinking:
			g.Signature = g.signature.String()
		case len(g.citations) > 0:
			g.ProviderData = marshal(cited{g.citations})
		}
	}
	parts := t.draft.Parts()
	if t.inside != nil {
		parts = append([]event.Part{t.inside.part()}, parts...)
	}
	finish := cmp.Or(finishes[t.reason], model.FinishOther)
	return &model.Answer{Parts: parts, Usage: t.Usage(), Finish: finish, Reason: t.reason}, nil
}

var finishes = map[string]model.Finish{
	"end_turn": model.FinishStop, "stop_sequence": model.FinishStop,
	"pause_turn": model.FinishPause,
	"tool_use":   model.FinishToolCalls,
	"max_tokens": model.FinishLength, "model_context_window_exceeded": model.FinishLength,
	"refusal": model.FinishContentFilter,
}

type usage struct {
	Input         wire.Count `json:"input_tokens"`
	CacheRead     wire.Count `json:"cache_read_input_tokens"`
	CacheCreation wire.Count `json:"cache_creation_input_tokens"`
	Output        wire.Count `json:"output_tokens"`
	Details       struct {
		Thinking wire.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// Usage counts what was read from the cache, and written to it, as input: the provider
// counts them beside it.
func (t *turn) Usage() event.Usage {
	u := &t.usage
	return wire.Usage(u.Input+u.CacheRead+u.CacheCreation, u.CacheRead, u.Output, u.Details.Thinking)
}

// apiError is a failure as the API describes it, in a body or inside a stream.
type apiError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// status is the HTTP status that the API documents for the type: inside a stream there
// is no other.
func (e apiError) status() int { return cmp.Or(statuses[e.Type], 500) }

var statuses = map[string]int{
	"invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403, "not_found_error": 404,
	"request_too_large": 413, "rate_limit_error": 429, "timeout_error": 504, "overloaded_error": 529,
}

func (e apiError) problem() wire.Problem {
	return wire.Problem{Message: cmp.Or(e.Message, e.Type), Final: e.Type == "billing_error"}
}

func explain(_ int, body []byte) wire.Problem {
	var failed struct {
		Error apiError `json:"error"`
	}
	if wire.Decode(body, &failed) != nil {
		return wire.Problem{} // a page of some proxy, most likely
	}
	return failed.Error.problem()
}
