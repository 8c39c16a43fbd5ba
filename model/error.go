package model

import (
	"context"
	"errors"
	"time"

	"github.com/perstack-go/perstack/event"
)

// An Error is a failed generation. Message can be printed: it holds no
// secrets.
type Error struct {
	Name       string // class, like RateLimitError
	Message    string
	StatusCode int           // of HTTP, 0 if there was none
	Retryable  bool          // the same request may succeed later
	RetryAfter time.Duration // what the provider asked for; 0 if it did not

	// Usage is what the provider had counted when an answer broke off, and bills all the
	// same. It is zero if nothing was counted.
	Usage event.Usage
}

func (e *Error) Error() string { return e.Message }

// OutOfTime is the message of a generation that used up the time it is allowed.
const OutOfTime = "the model did not finish its answer in time"

// AsError returns err as an [*Error], with what was used before it. A generation that ran
// out of time is final: it was given all the time there is, and trying again would pay for
// it once more. Of other errors nothing is known, and they are final too.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	var used event.Usage
	if broken, ok := errors.AsType[*interrupted](err); ok {
		used = broken.used
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &Error{Name: "TimeoutError", Message: OutOfTime, Usage: used}
	}
	return &Error{Name: "UnknownError", Message: err.Error(), Usage: used}
}

// WithUsage returns err with what was used before it: [AsError] has it, whatever err is.
// What err is for [errors.Is] does not change.
func WithUsage(err error, used event.Usage) error {
	if e, ok := errors.AsType[*Error](err); ok {
		with := *e // a copy: someone may hold the other
		with.Usage = used
		return &with
	}
	return &interrupted{err, used}
}

// interrupted is an end that is not the provider's: our own time ran out, or the user
// stopped the run.
type interrupted struct {
	error
	used event.Usage
}

func (e *interrupted) Unwrap() error { return e.error }
