// Package event says what happened: the events of a run, the messages and parts
// they carry, checkpoints, steps and usage.
//
// The package has values and their JSON, nothing else. It opens no file, reads no clock and
// makes no ids.
//
// An [Event] has two forms with the same types. The journal has the lean form: every fact
// once, and nothing that can be folded from earlier records. Programs that read standard
// output get the full form, with whole checkpoints; the engine fills those fields in from its
// state. The comment of a field says if only the full form has it.
//
// Members that this version does not know survive decoding and encoding, so an older release
// does not damage the journal of a newer one.
//
// Start reading at [Event], then [Body] and its implementations.
package event

import (
	"reflect"
	"time"

	"github.com/perstack-go/perstack/rawjson"
)

// An Event is one thing that happened. The events of a job are the truth about it;
// states, checkpoints and screens are derived from them.
type Event struct {
	ID        string
	Timestamp int64 // milliseconds since the Unix epoch
	JobID     string
	RunID     string

	// Events about the runtime ([Event.IsRuntime]) have no Expert and no step.
	ExpertKey  string
	StepNumber int

	Body Body
}

// Type names what happened.
func (e Event) Type() Type { return e.kind().name }

// kind returns the row of the body; an empty one for a body of another package.
func (e Event) kind() *kind {
	if k := kindsByBody[reflect.TypeOf(e.Body)]; k != nil {
		return k
	}
	return &kind{}
}

// Time returns the event's timestamp.
func (e Event) Time() time.Time { return time.UnixMilli(e.Timestamp).UTC() }

// A Body is the payload of an event: one Go type an event type, all declared in this
// package. Use a type switch.
type Body interface{ isBody() }

// Extra makes a struct a [Body]. It has the members that this version does not know.
type Extra struct {
	Unknown map[string]rawjson.Value `json:",embed"`
}

func (Extra) isBody() {}

// Type is the name of an event type as it is written in JSON.
type Type string

// IsRuntime reports whether e is about the runtime rather than about a Run's state.
func (e Event) IsRuntime() bool {
	a := e.kind().audience
	return a == runtimeAudience || a == keptAudience
}

// IsKept reports whether e belongs in the journal. Fragments of a stream and progress do
// not: the complete result is recorded instead.
func (e Event) IsKept() bool {
	a := e.kind().audience
	return a == stateAudience || a == recordAudience || a == keptAudience
}

// IsRecordOnly reports whether e exists for the journal alone, and is left out of
// full output.
func (e Event) IsRecordOnly() bool { return e.kind().audience == recordAudience }

// IsTerminal reports whether e stops its Run, for good or until it resumes.
func (e Event) IsTerminal() bool {
	_, ok := e.EndStatus()
	return ok
}

// EndStatus returns the status in which a terminal event leaves its Run.
func (e Event) EndStatus() (Status, bool) {
	end := e.kind().end
	return end, end != noEnd
}

// Checkpoint returns the checkpoint that e leaves, in full output; otherwise nil.
func (e Event) Checkpoint() *Checkpoint {
	if b, ok := e.Body.(interface{ checkpoint() *Checkpoint }); ok {
		return b.checkpoint()
	}
	return nil
}
