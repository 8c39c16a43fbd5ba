package chat

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// A turn is an answer in the making.
type turn struct {
	client  *wire.Client
	draft   wire.Draft
	calls   map[int]*wire.Growing // by the number that the stream gives them
	newest  *wire.Growing         // among the calls
	usage   usage
	counted bool // the usage has come
	reason  string
	refused bool // in words of its own
}

// chunk is one event of the stream. What a service adds, like the results of its content
// filter, is left out.
type chunk struct {
	Choices []struct {
		Index        int    `json:"index"`
		Delta        delta  `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage    `json:"usage"`
	Error *apiError `json:"error"`
}

type delta struct {
	Content   string      `json:"content"`
	Refusal   string      `json:"refusal"`
	Reasoning string      `json:"reasoning_content"`
	ToolCalls []callDelta `json:"tool_calls"`
}

type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// read takes the events of a stream up to the last and tells what there is to tell. An
// answer says why it ends, then what it cost; then comes the mark of the end. Some gateways
// forget the mark: what came before it is the whole answer all the same. One without its
// cost is not, unless the mark is there: it may have been cut.
func (t *turn) read(stream *wire.Stream, tell wire.Tell) error {
	for {
		e, err := stream.Next()
		ended := errors.Is(err, io.EOF)
		switch {
		case err != nil && !ended:
			return err
		case ended || isDone(e.Data):
			if t.reason == "" || ended && !t.counted {
				return t.client.Incomplete()
			}
			stream.Finish()
			return nil
		}
		if err := t.take(e.Data, tell); err != nil {
			return err
		}
		if err := t.draft.Check(t.client); err != nil {
			return err
		}
	}
}

func isDone(data []byte) bool { return string(bytes.TrimSpace(data)) == "[DONE]" }

// take adds an event to the turn.
func (t *turn) take(data []byte, tell wire.Tell) error {
	var c chunk
	if err := wire.Decode(data, &c); err != nil {
		return t.client.Malformed(err)
	}
	if c.Error != nil {
		return t.failed(c.Error)
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
	if d.Reasoning != "" {
		t.draft.Last(event.ThinkingPart).Write(d.Reasoning)
		if err := tell(model.Chunk{Reasoning: d.Reasoning}); err != nil {
			return err
		}
	}
	t.refused = t.refused || d.Refusal != ""
	for _, words := range []string{d.Content, d.Refusal} {
		if words == "" {
			continue
		}
		t.draft.Last(event.TextPart).Write(words)
		if err := tell(model.Chunk{Text: words}); err != nil {
			return err
		}
	}
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

// failed is an error inside the stream.
func (t *turn) failed(e *apiError) error {
	failure := t.client.Failure(e.status(), e.problem())
	if e.isFiltered() {
		failure.Name, failure.Retryable = contentFilter, false
	}
	return failure
}

// answer is the turn, when it is done.
func (t *turn) answer() *model.Answer {
	a := &model.Answer{Parts: t.draft.Parts(), Usage: t.usage.total(), Finish: finish(t.reason), Reason: t.reason}
	if t.refused {
		a.Finish, a.Reason = model.FinishContentFilter, "refusal"
	}
	return a
}

func finish(reason string) model.Finish {
	switch reason {
	case "stop":
		return model.FinishStop
	case "tool_calls", "function_call":
		return model.FinishToolCalls
	case "length":
		return model.FinishLength
	case "content_filter":
		return model.FinishContentFilter
	}
	return model.FinishOther
}

// usage is what an answer used. It comes once, at the end.
type usage struct {
	Input        *int64 `json:"prompt_tokens"`
	Output       *int64 `json:"completion_tokens"`
	CacheHit     *int64 `json:"prompt_cache_hit_tokens"` // of DeepSeek
	InputDetails struct {
		Cached *int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	OutputDetails struct {
		Reasoning *int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// total counts as the API does: input includes what was read from the cache, and output
// what was thought.
func (u *usage) total() event.Usage {
	total := event.Usage{InputTokens: wire.Tokens(u.Input), OutputTokens: wire.Tokens(u.Output)}
	cached := u.InputDetails.Cached
	if cached == nil {
		cached = u.CacheHit
	}
	// A part is never more than the whole, whatever the service says.
	total.CachedInputTokens = min(wire.Tokens(cached), total.InputTokens)
	total.ReasoningTokens = min(wire.Tokens(u.OutputDetails.Reasoning), total.OutputTokens)
	total.TotalTokens = total.InputTokens + total.OutputTokens
	return total
}
