package expert

import "time"

// Defaults of what bounds delegation.
const (
	DefaultMaxDepth    = 8
	DefaultMaxParallel = 16
)

// The largest limits that a file may set. No job needs more, and below them no sum of
// what a job uses can overflow.
const (
	MostTokens   = 1_000_000_000_000
	MostCost     = 1_000_000 // US dollars
	MostDuration = 8760 * time.Hour
	MostDepth    = 1000
	MostParallel = 10_000
)

// Limits bound what may be used: by a whole job, or by one Run of an Expert together with
// all that it delegates to. A limit of 0 is none.
type Limits struct {
	MaxSteps    int           `json:"maxSteps,omitzero"`
	MaxTokens   int64         `json:"maxTokens,omitzero"`
	MaxCost     float64       `json:"maxCost,omitzero"` // in US dollars
	MaxDuration time.Duration `json:"maxDuration,omitzero"`
}

// A Price is what a model costs, in US dollars for a million tokens.
//
// If a file leaves CachedInput or CacheWrite out, the reader writes Input there: a limit on
// cost must not be passed because a cache was guessed to be cheaper.
type Price struct {
	Input       float64 `json:"input,omitzero"`
	CachedInput float64 `json:"cachedInput,omitzero"` // read from the provider's cache
	CacheWrite  float64 `json:"cacheWrite,omitzero"`  // written to it; 0 if that costs the same as Input
	Output      float64 `json:"output,omitzero"`

	// Long holds instead for a request that reads much; see For.
	Long LongPrice `json:"long,omitzero"`
}

// A LongPrice is what a request costs that reads more than Above tokens, cached ones
// included: all of it, and its answer. Above is 0 where length makes no difference.
type LongPrice struct {
	Above       int     `json:"above,omitzero"`
	Input       float64 `json:"input,omitzero"`
	CachedInput float64 `json:"cachedInput,omitzero"`
	CacheWrite  float64 `json:"cacheWrite,omitzero"`
	Output      float64 `json:"output,omitzero"`
}

// For is the price of one request that reads so many tokens, and of its answer.
func (p Price) For(input int) Price {
	if l := p.Long; l.Above > 0 && input > l.Above {
		return Price{Input: l.Input, CachedInput: l.CachedInput, CacheWrite: l.CacheWrite, Output: l.Output}
	}
	return p
}

// What holds when neither the file nor a flag says otherwise.
const (
	DefaultReasoningBudget = ReasoningLow
	DefaultMaxSteps        = 100
	DefaultMaxRetries      = 5
	DefaultTimeout         = 300000 * time.Millisecond
	DefaultVersion         = "1.0.0" // of an Expert that does not state one
)
