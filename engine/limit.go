package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/perstack-go/perstack/event"
)

// A LimitError says that a limit is reached: what the ledger refuses with, and the cause
// with which a context is cancelled by whoever watches a limit from outside. The Run then
// ends by that limit instead of by an interrupt; everything is saved in the same way.
type LimitError struct {
	Limit     string  // as [event.StopRunByLimit] names it
	Used, Max float64 // steps, tokens, US dollars, seconds, bytes, Experts or repetitions
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the limit on %s is reached: %g used, %g allowed", e.Limit, e.Used, e.Max)
}

// A StopError is the cause with which a context is cancelled when a run must not go on:
// the Run ends by an error instead of by an interrupt.
type StopError struct {
	Name string // of the failure, as [event.StopRunByError] has it
	Err  error
}

func (e *StopError) Error() string { return e.Err.Error() }
func (e *StopError) Unwrap() error { return e.Err }

// SkillFailure names the failure of a Run that a skill has ended: it did not start, its
// list of tools cannot be used, or it asked for the end.
const SkillFailure = "SkillError"

// asStop makes err a cause that does not pass for an interrupt by the user.
func asStop(err error) error {
	var stop *StopError
	var limit *LimitError
	if err == nil || errors.As(err, &stop) || errors.As(err, &limit) {
		return err
	}
	return &StopError{Name: SkillFailure, Err: err}
}

// A halt says why a run was told to stop.
type halt struct {
	reason string
	limit  *LimitError // nil unless a limit was reached
	stop   *StopError  // nil unless something went wrong
}

// halted reports whether the run was told to stop, and why.
func (r *run) halted(ctx context.Context) (halt, bool) {
	if r.refused != nil {
		return halt{reason: r.refused.Error(), limit: r.refused}, true
	}
	if err := r.closed(); err != nil {
		return halt{reason: fmt.Sprintf("output closed: %v", err)}, true
	}
	if ctx.Err() == nil {
		return halt{}, false
	}
	cause := context.Cause(ctx)
	h := halt{reason: cause.Error()}
	errors.As(cause, &h.limit)
	errors.As(cause, &h.stop)
	if h.stop != nil && r.parent != nil && r.above.Err() != nil {
		// What went wrong further up is not a failure of this Run.
		h = halt{reason: "the Expert that delegated was stopped: " + h.stop.Error()}
	}
	return h, true
}

// settle takes the results of tools that stop because the run is told to. What does
// not stop in time is left without a result: its outcome is unknown. Then the Run
// ends; of a limit, the numbers are recorded first.
func (r *run) settle(h halt) event.Body {
	for result, ok := r.flight.stopOne(); ok; result, ok = r.flight.stopOne() {
		// A call that does no harm is simply made again when the Run goes on.
		if tool, _, _ := r.toolbox.Lookup(result.ToolName); !result.IsError || !tool.Repeatable {
			return r.landed(result)
		}
	}
	switch l := h.limit; {
	case h.stop != nil:
		return event.StopRunByError{Error: event.Failure{Name: h.stop.Name, Message: validText(h.stop.Error())}, Usage: r.given}
	case l == nil:
		return event.StopRunByInterrupt{Reason: h.reason, Usage: r.given}
	case l.Limit == event.LimitSteps:
		return event.StopRunByExceededMaxSteps{Usage: r.given}
	case r.limit == nil:
		r.limit = l
		return event.LimitWarning{Limit: l.Limit, Used: l.Used, Max: l.Max}
	default:
		return event.StopRunByLimit{Limit: l.Limit, Usage: r.given}
	}
}
