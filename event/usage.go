package event

import "github.com/go-json-experiment/json/jsontext"

// Usage counts the tokens of one or more generations. Numbers that a provider does
// not report are 0.
type Usage struct {
	InputTokens       int            `json:"inputTokens"`
	OutputTokens      int            `json:"outputTokens"`
	ReasoningTokens   int            `json:"reasoningTokens"`
	TotalTokens       int            `json:"totalTokens"`
	CachedInputTokens int            `json:"cachedInputTokens"`
	Unknown           jsontext.Value `json:",embed"`
}

// Add returns the field-wise sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:       u.InputTokens + v.InputTokens,
		OutputTokens:      u.OutputTokens + v.OutputTokens,
		ReasoningTokens:   u.ReasoningTokens + v.ReasoningTokens,
		TotalTokens:       u.TotalTokens + v.TotalTokens,
		CachedInputTokens: u.CachedInputTokens + v.CachedInputTokens,
	}
}
