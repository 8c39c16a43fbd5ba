package chat

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

type turn struct {
	client  *wire.Client
	draft   wire.Draft
	calls   map[int]*wire.Growing // by the number that the stream gives them
	newest  *wire.Growing         // among the calls
	usage   usage
	counted bool // the usage has come
	reason  string
	refused bool // in words of its own
	dialect *Dialect

	filtered bool // a content filter made the failure
}

// chunk is one event of the stream. What a service adds, like the results of its content
// filter, is left out.
type chunk struct {
	Choices []struct {
		Index        int    `json:"index"`
		Delta        delta  `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage            `json:"usage"`
	Error *wire.OpenAIError `json:"error"`
}

type delta struct {
	Content   string      `json:"content"`
	Refusal   string      `json:"refusal"`
	ToolCalls []callDelta `json:"tool_calls"`

	// A thought has one of two names. The second is newer, and another thing elsewhere.
	Reasoning string        `json:"reasoning_content"`
	Thought   rawjson.Value `json:"reasoning"`
}

type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Read takes the events of a stream up to the last and tells what there is to tell. An
// answer says why it ends, then what it cost; then comes the mark of the end. Some gateways
// forget the mark: what came before it is the whole answer all the same. One without its
// cost is not, unless the mark is there: it may have been cut.
func (t *turn) Read(stream *wire.Stream, tell wire.Tell) error {
	next := func() ([]byte, error) {
		e, err := stream.Next()
		if errors.Is(err, io.EOF) && t.counted {
			return []byte(done), nil
		}
		return e.Data, err
	}
	return wire.Collect(t.client, &t.draft, next, func(data []byte) (last bool, err error) {
		switch {
		case string(bytes.TrimSpace(data)) != done:
			return false, t.take(data, tell)
		case t.reason == "":
			return true, t.client.Incomplete()
		}
		return true, nil
	})
}

const done = "[DONE]"

func (t *turn) take(data []byte, tell wire.Tell) error {
	var c chunk
	if err := wire.Decode(data, &c); err != nil {
		return t.client.Malformed(err)
	}
	if c.Error != nil {
		return t.client.Failure(c.Error.Status(), t.explain(*c.Error))
	}
	if c.Usage != nil {
		t.usage, t.counted = *c.Usage, true
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 {
			continue // a second answer was not requested
		}
		if err := t.grow(&choice.Delta, tell); err != nil {
			return err
		}
		if choice.FinishReason != "" {
			t.reason = choice.FinishReason
		}
	}
	if t.reason == noResources {
		return t.client.Failure(http.StatusServiceUnavailable, wire.Problem{Message: "the service had no resources left for this answer (" + noResources + ")", Passing: true})
	}
	return nil
}

// noResources ends an answer that the service gave up.
const noResources = "insufficient_system_resource"

func (t *turn) grow(d *delta, tell wire.Tell) error {
	if err := t.draft.Tell(cmp.Or(d.Reasoning, wire.Word(d.Thought)), d.Content+d.Refusal, tell); err != nil {
		return err
	}
	t.refused = t.refused || d.Refusal != ""
	for i := range d.ToolCalls {
		t.growCall(&d.ToolCalls[i])
	}
	return nil
}

// growCall adds a piece of a call. The first has its id and its name, the others its
// number alone. Some gateways give no number, or the same to all: there a new id begins
// a new call.
func (t *turn) growCall(d *callDelta) {
	call := t.newest
	if d.Index != nil {
		call = t.calls[*d.Index]
	}
	if call == nil || d.ID != "" && call.ToolCallID != "" && d.ID != call.ToolCallID {
		call = t.draft.Open(event.ToolCallPart)
		if t.calls == nil {
			t.calls = map[int]*wire.Growing{}
		}
		if d.Index != nil {
			t.calls[*d.Index] = call
		}
	}
	t.newest = call
	if call.ToolCallID == "" {
		call.ToolCallID = d.ID
	}
	if call.ToolName == "" {
		call.ToolName = d.Function.Name
	}
	call.Write(d.Function.Arguments)
}

func (t *turn) Answer() (*model.Answer, error) {
	a := &model.Answer{
		Parts: t.draft.Parts(), Usage: t.Usage(), Finish: cmp.Or(finishes[t.reason], model.FinishOther), Reason: t.reason,
		CutsInput: t.dialect.cutsInput,
	}
	if t.refused {
		a.Finish, a.Reason = model.FinishContentFilter, "refusal"
	}
	return a, nil
}

var finishes = map[string]model.Finish{
	"stop":       model.FinishStop,
	"tool_calls": model.FinishToolCalls, "function_call": model.FinishToolCalls,
	"length":         model.FinishLength,
	"content_filter": model.FinishContentFilter,
}

// usage is what an answer used. It comes once, at the end.
type usage struct {
	Input        wire.Count `json:"prompt_tokens"`
	Output       wire.Count `json:"completion_tokens"`
	CacheHit     wire.Count `json:"prompt_cache_hit_tokens"` // of DeepSeek
	InputDetails struct {
		Cached wire.Count `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	OutputDetails struct {
		Reasoning wire.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// Usage counts as the API does.
func (t *turn) Usage() event.Usage {
	u := &t.usage
	return wire.Usage(u.Input, cmp.Or(u.InputDetails.Cached, u.CacheHit), u.Output, u.OutputDetails.Reasoning)
}
