package event

import "github.com/perstack-go/perstack/rawjson"

// This file holds the fragments of a generation as it streams. They are shown, not
// kept: the message that they add up to is recorded when it is complete.

// StartStreamingReasoning precedes the first [StreamReasoning].
type StartStreamingReasoning struct {
	Unknown map[string]rawjson.Value `json:",embed"`
}

func (StartStreamingReasoning) isBody() {}

// StreamReasoning is a piece of reasoning.
type StreamReasoning struct {
	Delta   string                   `json:"delta"`
	Unknown map[string]rawjson.Value `json:",embed"`
}

func (StreamReasoning) isBody() {}

// CompleteStreamingReasoning holds all reasoning of the generation.
type CompleteStreamingReasoning struct {
	Text    string                   `json:"text"`
	Unknown map[string]rawjson.Value `json:",embed"`
}

func (CompleteStreamingReasoning) isBody() {}

// StartStreamingRunResult precedes the first [StreamRunResult].
type StartStreamingRunResult struct {
	Unknown map[string]rawjson.Value `json:",embed"`
}

func (StartStreamingRunResult) isBody() {}

// StreamRunResult is a piece of the final answer.
type StreamRunResult struct {
	Delta   string                   `json:"delta"`
	Unknown map[string]rawjson.Value `json:",embed"`
}

func (StreamRunResult) isBody() {}

// CompleteStreamingRunResult holds the whole final answer.
type CompleteStreamingRunResult struct {
	Text    string                   `json:"text"`
	Unknown map[string]rawjson.Value `json:",embed"`
}

func (CompleteStreamingRunResult) isBody() {}
