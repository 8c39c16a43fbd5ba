package responses

import (
	"cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// last takes the event that ends the stream, and has the whole answer once more.
func (t *turn) last(kind string, raw rawjson.Value, tell wire.Tell) error {
	var r struct {
		Status     string           `json:"status"`
		Output     []rawjson.Value  `json:"output"`
		Usage      usage            `json:"usage"`
		Error      wire.OpenAIError `json:"error"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
	}
	if raw.Kind() == '{' {
		if err := wire.Decode(raw, &r); err != nil {
			return t.client.Malformed(err)
		}
	}
	t.usage = r.Usage
	if kind == "response.failed" || r.Status == "failed" {
		return t.failed(r.Error)
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
	t.reason = r.Incomplete.Reason
	t.finish = cmp.Or(incomplete[t.reason], model.FinishOther)
	return nil
}

// incomplete is why a turn did not come to its own end.
var incomplete = map[string]model.Finish{
	"max_output_tokens": model.FinishLength, "content_filter": model.FinishContentFilter,
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

func (t *turn) Answer() (*model.Answer, error) {
	return &model.Answer{Parts: t.draft.Parts(), Usage: t.Usage(), Finish: t.finish, Reason: t.reason, CutsInput: t.elsewhere}, nil
}

// usage is what an answer used. The provider counts what was cached as input, and
// thoughts as output, as we do.
type usage struct {
	Input   wire.Count `json:"input_tokens"`
	Output  wire.Count `json:"output_tokens"`
	Details struct {
		Cached wire.Count `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning wire.Count `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

func (t *turn) Usage() event.Usage {
	u := &t.usage
	return wire.Usage(u.Input, u.Details.Cached, u.Output, u.OutputDetails.Reasoning)
}
