package event

import (
	"math"

	"github.com/perstack-go/perstack/rawjson"
)

// Usage counts the tokens of one or more generations. Numbers that a provider does
// not report are 0.
type Usage struct {
	InputTokens       int                      `json:"inputTokens"`
	OutputTokens      int                      `json:"outputTokens"`
	ReasoningTokens   int                      `json:"reasoningTokens"`
	TotalTokens       int                      `json:"totalTokens"`
	CachedInputTokens int                      `json:"cachedInputTokens"`
	Unknown           map[string]rawjson.Value `json:",embed"`
}

// Add returns the sum of u and v, field by field. Negative numbers count as 0 and no sum
// overflows, because limits depend on it and a journal can be forged.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:       sum(u.InputTokens, v.InputTokens),
		OutputTokens:      sum(u.OutputTokens, v.OutputTokens),
		ReasoningTokens:   sum(u.ReasoningTokens, v.ReasoningTokens),
		TotalTokens:       sum(u.TotalTokens, v.TotalTokens),
		CachedInputTokens: sum(u.CachedInputTokens, v.CachedInputTokens),
	}
}

func sum(a, b int) int {
	const most = math.MaxInt / 2
	return min(max(a, 0), most) + min(max(b, 0), most)
}

// Usage is what the event adds to the usage of its Run and of the job. Events that repeat
// what another has counted add nothing.
func (e Event) Usage() Usage {
	switch b := e.Body.(type) {
	case CallTools:
		return b.Usage
	case Retry:
		return b.Usage
	case CompleteRun:
		return b.Usage
	case StopRunByError:
		return b.Usage
	case StopRunByExceededMaxSteps:
		return b.Usage
	case StopRunByLimit:
		return b.Usage
	case StopRunByInterrupt:
		return b.Usage
	}
	return Usage{}
}
