package responses

import (
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// last takes the event that ends the stream, and has the whole answer once more.
func (t *turn) last(kind string, raw rawjson.Value, tell wire.Tell) error {
	var r struct {
		Status     string          `json:"status"`
		Output     []rawjson.Value `json:"output"`
		Usage      *usage          `json:"usage"`
		Error      rawjson.Value   `json:"error"`
		Incomplete *struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
	}
	if raw.Kind() == '{' {
		if err := wire.Decode(raw, &r); err != nil {
			return t.client.Malformed(err)
		}
	}
	if r.Usage != nil {
		t.used = r.Usage.total()
	}
	if kind == "response.failed" || r.Status == "failed" {
		return asFailure(r.Error).in(t.client)
	}
	if len(t.ended) == 0 { // else they came before, and no call may be read twice
		for i, item := range r.Output {
			if err := t.end(i, item, tell); err != nil {
				return err
			}
		}
	}
	if kind == "response.completed" && r.Status != "incomplete" {
		t.completed()
		return nil
	}
	if r.Incomplete != nil {
		t.reason = r.Incomplete.Reason
	}
	switch t.reason {
	case "max_output_tokens":
		t.finish = model.FinishLength
	case "content_filter":
		t.finish = model.FinishContentFilter
	default:
		t.finish = model.FinishOther
	}
	return nil
}

// completed ends a turn that came to its own end. A refusal does, too.
func (t *turn) completed() {
	t.finish, t.reason = model.FinishStop, "completed"
	switch {
	case t.called:
		t.finish = model.FinishToolCalls
	case t.refused:
		t.finish, t.reason = model.FinishContentFilter, typeRefusal
	}
}

// answer is the turn, when it is done.
func (t *turn) answer() *model.Answer {
	return &model.Answer{Parts: t.draft.Parts(), Usage: t.used, Finish: t.finish, Reason: t.reason}
}

// usage is what an answer used. The provider counts what was cached as input, and
// thoughts as output, as we do.
type usage struct {
	Input   *int64 `json:"input_tokens"`
	Output  *int64 `json:"output_tokens"`
	Details struct {
		Cached *int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning *int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

func (u *usage) total() event.Usage {
	total := event.Usage{
		InputTokens:     wire.Tokens(u.Input),
		OutputTokens:    wire.Tokens(u.Output),
		ReasoningTokens: wire.Tokens(u.OutputDetails.Reasoning),
	}
	total.CachedInputTokens = min(wire.Tokens(u.Details.Cached), total.InputTokens) // more would make a sum too cheap
	total.TotalTokens = total.InputTokens + total.OutputTokens
	return total
}
