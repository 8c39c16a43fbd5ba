// Package skill has the Skill interface, and the [Toolbox]: one table of the tools of all
// skills of an Expert, for showing, finding and calling them.
//
// The package starts no process and opens no file; its implementations do, through
// internal/sandbox and internal/workspace. A skill is untrusted: what it returns is
// data, and an error of a tool is an answer for the model, not the end of a run.
//
// Start reading at [Skill], then [Toolbox].
package skill

import (
	"context"
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
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
	Proposal                // the user accepts or refuses a plan
)

// A Tool is one thing that a skill can do.
type Tool struct {
	Name        string
	Title       string
	Description string
	InputSchema rawjson.Value // JSON Schema of the arguments, an object
	Kind        Kind

	// Repeatable says that running the tool again does no harm: it only reads, or
	// its second run changes nothing. After a crash only such calls are repeated;
	// for the others the model is told that the outcome is unknown.
	Repeatable bool
	// ReadOnly says that the tool changes nothing. A tool can be repeatable and not
	// read-only: one that writes the same file twice.
	ReadOnly bool
	// MemoryOnly says that the tool changes nothing but the memory of its skill: no files, and nothing
	// outside.
	MemoryOnly bool

	// Destructive says that a server describes the tool so: it can delete or overwrite. What a server
	// does not say about a tool means nothing.
	Destructive bool

	// Digest is that of the whole definition as a server sent it, including members that are
	// not kept here. It is empty for tools that do not come from a server.
	Digest string
	// Checked says that the skill checks the arguments itself, with better messages than can
	// be derived from a schema.
	Checked bool
	// Ours says that the texts are part of this program, so they need not be searched for
	// hidden characters. For a thousand Runs the search would take a tenth of the time.
	Ours bool
}

// A Rememberer is a [Skill] with a state that lasts as long as a conversation, like a todo list.
// Its memory is recorded with each result that changed it, and restored before the first call
// when the conversation is resumed. A skill that wraps another one can have a method
// Unwrap() Skill instead, which returns that one.
type Rememberer interface {
	Memory() rawjson.Value
	Recall(memory rawjson.Value) error
}

// A Filter narrows what a skill offers. Omit is applied before Pick; an empty list
// does not narrow. Both hold the names that the skill itself uses.
type Filter struct {
	Pick, Omit []string
}

// Allows reports whether the filter lets a tool through.
func (f Filter) Allows(tool string) bool {
	if slices.Contains(f.Omit, tool) {
		return false
	}
	return len(f.Pick) == 0 || slices.Contains(f.Pick, tool)
}

// A Progress receives notes of running tools, for showing.
type Progress func(toolCallID, message string)

type (
	progressKey struct{}
	callKey     struct{}
)

// WithProgress returns a context by which tools report progress to p.
func WithProgress(ctx context.Context, p Progress) context.Context {
	return context.WithValue(ctx, progressKey{}, p)
}

// WithCall returns a context for one call, by which [Report] knows whose progress it
// reports. [Toolbox.Call] makes one.
func WithCall(ctx context.Context, toolCallID string) context.Context {
	return context.WithValue(ctx, callKey{}, toolCallID)
}

// CallID returns the id of the call that a context is for; empty if it is for none.
func CallID(ctx context.Context) string {
	id, _ := ctx.Value(callKey{}).(string)
	return id
}

// Report sends a note of a running tool to the listener of ctx, if there is one. In a Run, a note
// that comes after the tool has returned is dropped.
func Report(ctx context.Context, message string) {
	if p, ok := ctx.Value(progressKey{}).(Progress); ok {
		p(CallID(ctx), message)
	}
}
