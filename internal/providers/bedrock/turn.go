package bedrock

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

type turn struct {
	client  *wire.Client
	draft   wire.Draft
	open    map[int]*growing // by the number that the stream gives them
	usage   usage
	counted bool // usage has come
	stopped bool
	reason  string
}

type growing struct {
	*wire.Growing        // nil: it is of no use
	signature     []byte // of a thought
	hidden        []byte // a thought that only the provider can read
}

// message is the payload of any event.
type message struct {
	Index int `json:"contentBlockIndex"`
	Start struct {
		ToolUse *struct {
			ID   string `json:"toolUseId"`
			Name string `json:"name"`
			Type string `json:"type"`
		} `json:"toolUse"`
	} `json:"start"`
	Delta struct {
		Text    string `json:"text"`
		ToolUse *struct {
			Input string `json:"input"`
		} `json:"toolUse"`
		Reasoning *struct {
			Text      string `json:"text"`
			Signature string `json:"signature"`
			Redacted  []byte `json:"redactedContent"`
		} `json:"reasoningContent"`
	} `json:"delta"`
	StopReason string `json:"stopReason"`
	Usage      usage  `json:"usage"`
}

// Read takes the events of a stream up to the last, which counts what was used, and tells
// what there is to tell. The service always sends that count; without it the budget of a
// job would not be held, so an answer that lacks it is not complete.
func (t *turn) Read(stream *wire.Stream, tell wire.Tell) error {
	frames := newFrames(t.client, stream)
	return wire.Collect(t.client, &t.draft, frames.next, func(frame eventstream.Message) (last bool, err error) {
		err = t.take(frame, tell)
		return t.stopped && t.counted, err
	})
}

func (t *turn) take(frame eventstream.Message, tell wire.Tell) error {
	switch kind := header(frame, ":message-type"); kind {
	case "event":
	case "exception", "error":
		return exception(t.client, frame, kind)
	default:
		return t.client.Malformed(fmt.Errorf("a message of the type %.50q", kind))
	}
	name := header(frame, ":event-type")
	switch name {
	case "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata":
	default: // it begins, or is new
		return nil
	}
	var m message
	if err := wire.Decode(frame.Payload, &m); err != nil {
		return t.client.Malformed(err)
	}
	switch name {
	case "contentBlockStart":
		t.start(&m)
	case "contentBlockDelta":
		return t.grow(&m, tell)
	case "contentBlockStop":
		t.close(m.Index)
	case "messageStop":
		t.stopped, t.reason = true, m.StopReason
	case "metadata":
		t.counted, t.usage = true, m.Usage
	}
	return nil
}

// start begins a block. Only those of calls are told of before their words come.
func (t *turn) start(m *message) {
	t.close(m.Index)
	g := &growing{}
	t.open[m.Index] = g // also if it is of no use, so that its words find no other
	if call := m.Start.ToolUse; call != nil && call.Type != "server_tool_use" {
		g.Growing = t.draft.Open(event.ToolCallPart)
		g.ToolCallID, g.ToolName, g.Args = call.ID, call.Name, rawjson.Value("{}")
	}
}

func (t *turn) grow(m *message, tell wire.Tell) error {
	d := &m.Delta
	switch {
	case d.ToolUse != nil:
		if g := t.open[m.Index]; g != nil && g.Growing != nil && g.Type == event.ToolCallPart {
			g.Write(d.ToolUse.Input)
		}
	case d.Reasoning != nil:
		g := t.part(m.Index, event.ThinkingPart)
		g.signature = append(g.signature, d.Reasoning.Signature...)
		g.hidden = append(g.hidden, d.Reasoning.Redacted...)
		return g.Tell(d.Reasoning.Text, tell)
	case d.Text != "":
		return t.part(m.Index, event.TextPart).Tell(d.Text, tell)
	}
	return nil
}

// part is the block that words of a kind belong to. Most begin with their first words.
func (t *turn) part(index int, kind event.PartType) *growing {
	if g := t.open[index]; g != nil && g.Growing != nil && g.Type == kind {
		return g
	}
	t.close(index)
	g := &growing{Growing: t.draft.Open(kind)}
	t.open[index] = g
	return g
}

// close ends a block: another one may get its number.
func (t *turn) close(index int) {
	if g := t.open[index]; g != nil && g.Growing != nil {
		g.Signature = string(g.signature)
		if len(g.hidden) > 0 {
			g.ProviderData = redacted{g.hidden}.encode()
		}
	}
	delete(t.open, index)
}

func (t *turn) Answer() (*model.Answer, error) {
	for index := range t.open { // they should be closed by now
		t.close(index)
	}
	switch t.reason {
	case "malformed_model_output", "malformed_tool_use":
		return nil, t.client.Failure(http.StatusInternalServerError, wire.Problem{Message: "the model's words could not be read (" + t.reason + ")", Passing: true})
	}
	return &model.Answer{Parts: t.draft.Parts(), Usage: t.Usage(), Finish: cmp.Or(finishes[t.reason], model.FinishOther), Reason: t.reason}, nil
}

var finishes = map[string]model.Finish{
	"end_turn": model.FinishStop, "stop_sequence": model.FinishStop,
	"tool_use":   model.FinishToolCalls,
	"max_tokens": model.FinishLength, "model_context_window_exceeded": model.FinishLength,
	"content_filtered": model.FinishContentFilter, "guardrail_intervened": model.FinishContentFilter, "refusal": model.FinishContentFilter,
}

type usage struct {
	Input      wire.Count `json:"inputTokens"`
	CacheRead  wire.Count `json:"cacheReadInputTokens"`
	CacheWrite wire.Count `json:"cacheWriteInputTokens"`
	Output     wire.Count `json:"outputTokens"`
}

// Usage counts all input as input: the provider counts the cache beside it.
func (t *turn) Usage() event.Usage {
	u := &t.usage
	return wire.Usage(u.Input+u.CacheRead+u.CacheWrite, u.CacheRead, u.Output, 0)
}
