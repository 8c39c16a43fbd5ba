package anthropic

import (
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
)

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
