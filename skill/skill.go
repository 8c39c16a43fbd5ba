// Package skill says what an Expert can do: the Skill interface, and the [Toolbox]
// that puts the tools of all skills of an Expert into one table for showing them to
// the model, finding them and calling them.
//
// The package starts no process and opens no file; its implementations do, through
// internal/sandbox and internal/workspace. A skill is untrusted: what it returns is
// data, and an error of a tool is an answer for the model, not the end of a run.
//
// Start reading at [Skill], then [Toolbox].
package skill

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
)

// A Skill is a set of tools. Its methods may be called from several goroutines.
type Skill interface {
	// Name is the key of the skill in perstack.toml.
	Name() string
	// Tools lists what the skill offers, before pick and omit.
	Tools(ctx context.Context) ([]Tool, error)
	// Call runs a tool. A tool that fails returns a result with IsError set; an
	// error means that the skill itself could not do its work. Both reach the model.
	Call(ctx context.Context, call event.ToolCall) (event.ToolResult, error)
	// Close ends the skill. It may be called more than once.
	Close() error
}

// Kind says how a call of a tool is carried out.
type Kind int

// The kinds, in the order in which the calls of one turn are carried out.
const (
	Plain       Kind = iota // the skill does it
	Delegate                // another Expert does it
	Interactive             // the user does it
)

// A Tool is one thing that a skill can do.
type Tool struct {
	Name        string
	Title       string
	Description string
	InputSchema jsontext.Value // JSON Schema of the arguments, an object
	Kind        Kind

	// Repeatable says that running the tool again does no harm: it only reads, or
	// its second run changes nothing. After a crash only such calls are repeated;
	// for the others the model is told that the outcome is unknown.
	Repeatable bool
	// ReadOnly says that the tool leaves its surroundings as they are. A tool can be
	// repeatable and not read-only: writing the same file twice.
	ReadOnly bool

	// Digest stands for the whole definition as a server gave it, also for what is not
	// kept here; empty for tools of our own. Two definitions that a model or a client
	// could tell apart have two digests.
	Digest string
	// Checked says that the skill checks the arguments itself, with better words than a
	// schema has.
	Checked bool
	// Ours says that the texts were written with this program, so nothing is hidden in
	// them. To look into them again for each of a thousand Runs would take a tenth of
	// the time of all.
	Ours bool
}

// A Rememberer is a [Skill] that keeps something for the length of a conversation, like
// a todo list. Its memory is recorded with each result by which it changed, and
// handed back before the first call when the conversation is resumed.
type Rememberer interface {
	Memory() jsontext.Value
	Recall(memory jsontext.Value) error
}

// A Progress receives notes of a running tool, for showing.
type Progress func(toolCallID, message string)

type progressKey struct{}

// WithProgress returns a context by which tools report progress to p.
func WithProgress(ctx context.Context, p Progress) context.Context {
	return context.WithValue(ctx, progressKey{}, p)
}

// Report sends a note of progress to whoever listens.
func Report(ctx context.Context, toolCallID, message string) {
	if p, ok := ctx.Value(progressKey{}).(Progress); ok {
		p(toolCallID, message)
	}
}
