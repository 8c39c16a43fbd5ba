package anthropic

import "github.com/perstack-go/perstack/event"

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
	cached := tokens(u.CacheRead)
	total := event.Usage{
		InputTokens:       tokens(u.Input) + cached + tokens(u.CacheCreation),
		CachedInputTokens: cached,
		OutputTokens:      tokens(u.Output),
	}
	if u.Details != nil {
		total.ReasoningTokens = tokens(&u.Details.Thinking)
	}
	total.TotalTokens = total.InputTokens + total.OutputTokens
	return total
}

// tokens keeps a number within reason, so that no sum of them overflows.
func tokens(n *int64) int {
	if n == nil {
		return 0
	}
	return int(min(max(*n, 0), 1<<30))
}
