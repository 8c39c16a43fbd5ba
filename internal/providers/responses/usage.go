package responses

import (
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
)

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
