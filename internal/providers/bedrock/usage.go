package bedrock

import (
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
)

// usage is what the last event counts. What was read from the cache or written to it is
// not in Input.
type usage struct {
	Input      *int64 `json:"inputTokens"`
	CacheRead  *int64 `json:"cacheReadInputTokens"`
	CacheWrite *int64 `json:"cacheWriteInputTokens"`
	Output     *int64 `json:"outputTokens"`
}

// total counts all input as input: the provider counts the cache beside it.
func (u *usage) total() event.Usage {
	cached := wire.Tokens(u.CacheRead)
	total := event.Usage{
		InputTokens:       wire.Tokens(u.Input) + cached + wire.Tokens(u.CacheWrite),
		CachedInputTokens: cached,
		OutputTokens:      wire.Tokens(u.Output),
	}
	total.TotalTokens = total.InputTokens + total.OutputTokens
	return total
}
