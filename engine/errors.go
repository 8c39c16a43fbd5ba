package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// An Error is a failure that the caller of the engine can act on, by kind.
type Error struct {
	Kind Kind
	Err  error
}

// Kind says who can act on an [Error].
type Kind string

// The kinds of [Error].
const (
	KindInput Kind = "input" // the request is invalid; nothing was started
	KindStore Kind = "store" // the history could not be read or written
)

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

func inputError(format string, args ...any) error {
	return &Error{KindInput, fmt.Errorf(format, args...)}
}

// StoreError gives an error of the store its kind.
func StoreError(err error) error {
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrBadID) || errors.Is(err, store.ErrLocked) {
		return &Error{KindInput, err}
	}
	return &Error{KindStore, err}
}

// A LimitError says that a limit is reached. A budget refuses with it. Code outside the
// engine that watches a limit cancels the context with it as the cause: the Run then ends
// by that limit instead of by an interrupt, and everything is saved in the same way.
type LimitError struct {
	Limit     string  // as [event.StopRunByLimit] names it
	Used, Max float64 // steps, tokens, US dollars, seconds, bytes, Experts or repetitions
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the limit on %s is reached: %g used, %g allowed", e.Limit, e.Used, e.Max)
}

// A StopError as the cause of a cancelled context ends the Run with an error instead of an
// interrupt.
type StopError struct {
	Name string // of the failure, as [event.StopRunByError] has it
	Err  error
}

func (e *StopError) Error() string { return e.Err.Error() }
func (e *StopError) Unwrap() error { return e.Err }

// SkillFailure names the failure of a Run that was ended by a skill: the skill did not
// start, its list of tools cannot be used, or it requested the end.
const SkillFailure = "SkillError"

// storeFailure names the failure of a Run whose journal accepts no more records.
const storeFailure = "StoreError"

// asStop wraps err so that it is not mistaken for an interrupt by the user.
func asStop(err error) error {
	var stop *StopError
	var limit *LimitError
	if err == nil || errors.As(err, &stop) || errors.As(err, &limit) {
		return err
	}
	return &StopError{Name: SkillFailure, Err: err}
}

// A WaitingError says that a job cannot resume before a question is answered.
type WaitingError struct {
	JobID   string
	Pending []event.ToolCall
}

func (e *WaitingError) Error() string {
	return "job " + e.JobID + " waits for an answer to " + callList(e.Pending)
}

func callList(calls []event.ToolCall) string {
	var names []string
	for _, c := range calls {
		names = append(names, c.ToolName+" ("+c.ID+")")
	}
	return strings.Join(names, ", ")
}

// ErrForged is wrapped by the error of a [Follower] about an event that an engine running
// this job would not send.
var ErrForged = errors.New("the report does not belong to this job")

func forged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrForged, fmt.Sprintf(format, args...))
}
