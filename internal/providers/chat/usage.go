package chat

import (
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
)

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
