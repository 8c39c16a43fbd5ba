package event

// This file has the fragments of a generation as it streams. They are shown, not kept: the
// complete message is recorded.

// StartStreamingReasoning precedes the first [StreamReasoning].
type StartStreamingReasoning struct {
	Extra
}

// StreamReasoning is a piece of reasoning.
type StreamReasoning struct {
	Delta string `json:"delta"`
	Extra
}

// CompleteStreamingReasoning holds all reasoning of the generation.
type CompleteStreamingReasoning struct {
	Text string `json:"text"`
	Extra
}

// StartStreamingRunResult precedes the first [StreamRunResult].
type StartStreamingRunResult struct {
	Extra
}

// StreamRunResult is a piece of the final answer.
type StreamRunResult struct {
	Delta string `json:"delta"`
	Extra
}

// CompleteStreamingRunResult holds the whole final answer.
type CompleteStreamingRunResult struct {
	Text string `json:"text"`
	Extra
}

// StartStreamingText precedes the first [StreamText].
type StartStreamingText struct {
	Extra
}

// StreamText is a piece of what the model writes before it is known whether tool calls follow: a remark
// beside them, or the final answer.
type StreamText struct {
	Delta string `json:"delta"`
	Extra
}

// CompleteStreamingText holds the whole text of the generation.
type CompleteStreamingText struct {
	Text string `json:"text"`
	Extra
}
