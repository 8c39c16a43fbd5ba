// Package model has the [Model] interface, the request and the answer of a model, and how
// its failures are classified. It also has the facts that perstack knows in advance: the
// table of providers, and the catalogue of models with their limits and prices.
//
// The package sends nothing. internal/providers opens a model by name; an embedding program
// can also bring its own.
//
// Start reading at [Model], then [Request] and [Answer]. A provider is a row in providers.go.
package model

import (
	"context"
	"iter"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/rawjson"
)

// A Model generates one assistant turn at a time. It keeps no conversation: all it
// needs is in the request. A Model may be used from several goroutines.
type Model interface {
	// Generate streams one turn. The last value yielded carries the complete
	// [Answer]; an error ends the sequence. Failures are [*Error] where the model
	// knows more than that something went wrong.
	Generate(ctx context.Context, req *Request) iter.Seq2[Chunk, error]
}

// A MediaChecker is a [Model] that knows which images and files it can be sent.
type MediaChecker interface {
	// CheckMedia returns a [*MediaError] if the model of an Expert cannot be sent one of the parts of
	// a user's message. Without the question, the model would be told that the part is left out.
	CheckMedia(expertKey string, parts []event.Part) error
}

// A MediaError says why an image or a file cannot be sent.
type MediaError struct {
	Part int // its index
	Why  string
}

func (e *MediaError) Error() string { return e.Why }

// A Request is what the model is asked.
type Request struct {
	Expert    string // key of the Expert that asks
	Messages  []*event.Message
	Tools     []Tool
	Reasoning expert.ReasoningBudget

	// TextOnly asks for text: no tool can be called. Tools are listed all the same if the API
	// supports that, because the conversation has calls of them and the provider's cache
	// begins with them.
	TextOnly bool

	// MaxTokens bounds the answer, thinking included; 0 means what the model allows. An
	// answer that reaches it ends with [FinishLength].
	MaxTokens int

	// Turn counts the generations that this conversation had before, and Attempt
	// how often this one failed in transport. Providers are not sent them; a scripted model
	// finds its place with them, also in another process.
	Turn, Attempt int
}

// A Tool is a tool as a model sees it.
type Tool struct {
	Name        string
	Description string
	InputSchema rawjson.Value
}

// A Chunk is a piece of a streamed turn. Exactly one field is set.
type Chunk struct {
	Reasoning string
	Text      string
	Answer    *Answer
}

// An Answer is a complete turn.
type Answer struct {
	// Parts are what the model wrote, in its order: text, thoughts, tool calls and, as
	// [event.ProviderPart], what the provider ran itself. They have no ids yet. Args of a
	// call are what the model wrote, valid or not. A call has no ToolCallID if the
	// provider gives none.
	Parts  []event.Part
	Usage  event.Usage
	Finish Finish
	Reason string // of the finish, in the provider's own word; may be empty

	// CutsInput says that the server may have cut a conversation that is too long for it,
	// without an error. Services refuse one; servers that users run themselves may not.
	CutsInput bool
}

// Text is what the answer says, without thoughts.
func (a *Answer) Text() string { return event.JoinText(a.Parts) }

// Calls are the calls of tools, as the model wrote them.
func (a *Answer) Calls() []event.Part {
	var calls []event.Part
	for _, p := range a.Parts {
		if p.Type == event.ToolCallPart {
			calls = append(calls, p)
		}
	}
	return calls
}

// Finish says why a turn ended.
type Finish string

// The reasons by which a turn can end.
const (
	FinishStop          Finish = "stop"
	FinishToolCalls     Finish = "tool-calls"
	FinishLength        Finish = "length"
	FinishContentFilter Finish = "content-filter"
	FinishPause         Finish = "pause" // of what the provider runs itself: the turn continues when it is sent back
	FinishOther         Finish = "other" // unknown, or not given: such an answer is not taken for complete
)
