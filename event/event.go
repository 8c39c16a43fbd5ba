package event

import "time"

// An Event is one thing that happened. The events of a job are the truth about it;
// states, checkpoints and screens are derived from them.
type Event struct {
	ID        string
	Timestamp int64 // milliseconds since the Unix epoch
	JobID     string
	RunID     string

	// ExpertKey and StepNumber say who was at which step. Events about the runtime
	// itself ([Event.IsRuntime]) have neither.
	ExpertKey  string
	StepNumber int

	Body Body
}

// Type names what happened.
func (e Event) Type() Type { return e.Body.Type() }

// Time returns the event's timestamp.
func (e Event) Time() time.Time { return time.UnixMilli(e.Timestamp).UTC() }

// A Body is the payload of an event: one Go type an event type, all declared in this
// package. Use a type switch.
type Body interface {
	Type() Type
	audience() audience
}

// Type is the name of an event type as it stands in JSON.
type Type string

// audience sorts event types by who gets to see them and whether they are kept.
type audience int

const (
	stateAudience   audience = iota // moves a Run's state; kept
	recordAudience                  // moves a Run's state; kept, but only the journal and lean output show it
	streamAudience                  // shown while it happens; not kept
	runtimeAudience                 // about the runtime; shown, not kept
	keptAudience                    // about the runtime; shown and kept
)

// IsRuntime reports whether e is about the runtime rather than about a Run's state.
func (e Event) IsRuntime() bool {
	a := e.Body.audience()
	return a == runtimeAudience || a == keptAudience
}

// IsKept reports whether e belongs in the journal. Fragments of a stream and notes of
// progress do not: what they add up to is recorded once it is complete.
func (e Event) IsKept() bool {
	a := e.Body.audience()
	return a == stateAudience || a == recordAudience || a == keptAudience
}

// IsRecordOnly reports whether e exists for the journal alone, and is left out of
// full output.
func (e Event) IsRecordOnly() bool { return e.Body.audience() == recordAudience }

// IsTerminal reports whether e ends the Run that it belongs to, or this stretch of it.
func (e Event) IsTerminal() bool {
	_, ok := e.EndStatus()
	return ok
}

// EndStatus returns the status in which a terminal event leaves its Run.
func (e Event) EndStatus() (Status, bool) {
	switch e.Body.(type) {
	case CompleteRun:
		return StatusCompleted, true
	case StopRunByInteractiveTool:
		return StatusStoppedByInteractiveTool, true
	case StopRunByDelegate:
		return StatusStoppedByDelegate, true
	case StopRunByExceededMaxSteps:
		return StatusStoppedByExceededMaxSteps, true
	case StopRunByError:
		return StatusStoppedByError, true
	case StopRunByLimit:
		return StatusStoppedByLimit, true
	case StopRunByInterrupt:
		return StatusStoppedByInterrupt, true
	}
	return "", false
}
