package model

import (
	"context"
	"errors"
	"time"
)

// An Error is a failed generation. Message is fit for printing: whoever makes an
// Error has taken the secrets out.
type Error struct {
	Name       string // class, like RateLimitError
	Message    string
	StatusCode int           // of HTTP, 0 if there was none
	Retryable  bool          // the same request may succeed later
	RetryAfter time.Duration // what the provider asked for; 0 if it did not
}

func (e *Error) Error() string { return e.Message }

// AsError returns err as an [*Error]. A generation that ran out of time may be tried
// again; of other errors nothing is known, and they are final.
func AsError(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Name: "TimeoutError", Message: "the model did not answer in time; raise --timeout", Retryable: true}
	}
	return &Error{Name: "UnknownError", Message: err.Error()}
}
