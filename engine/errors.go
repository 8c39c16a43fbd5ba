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

// Kind is the kind of an [Error].
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

// A JobError says why a job cannot be started or continued as the Spec asks. It wraps
// [store.ErrNotFound] if there is no such job.
type JobError struct {
	Problem      Problem
	JobID        string
	CheckpointID string // of CheckpointNotFound and DelegateAnswered
	Expert       string // key of the delegate, of DelegateAnswered
}

// A Problem is what is wrong with a job.
type Problem string

// The problems of a [JobError].
const (
	JobNotFound        Problem = "jobNotFound"
	JobExists          Problem = "jobExists"          // and the Spec does not continue it
	JobCompleted       Problem = "jobCompleted"       // and the Spec has no query
	NotWaiting         Problem = "notWaiting"         // and the Spec has an answer
	CheckpointNotFound Problem = "checkpointNotFound" // in this job
	JobImported        Problem = "jobImported"        // so it can be read and not continued
	DelegateAnswered   Problem = "delegateAnswered"   // the answer is for a delegate, which cannot ask the user
)

func (e *JobError) Error() string {
	switch e.Problem {
	case JobNotFound:
		return "no such job: " + e.JobID
	case JobExists:
		return "job " + e.JobID + " exists already"
	case JobCompleted:
		return "job " + e.JobID + " is completed; give a query to continue it"
	case NotWaiting:
		return "job " + e.JobID + " does not wait for an answer"
	case CheckpointNotFound:
		return "checkpoint " + e.CheckpointID + " not found in job " + e.JobID
	case JobImported:
		return "job " + e.JobID + " was recorded by another program and imported, so it can be read and not continued"
	case DelegateAnswered:
		return "checkpoint " + e.CheckpointID + " is one of the delegate " + e.Expert + ", which cannot ask the user anything"
	}
	return "job " + e.JobID + ": " + string(e.Problem)
}

func (e *JobError) Unwrap() error {
	if e.Problem == JobNotFound {
		return store.ErrNotFound
	}
	return nil
}

func jobError(problem Problem, jobID string) error {
	return &Error{KindInput, &JobError{Problem: problem, JobID: jobID}}
}

// StoreError gives an error of the store its kind.
func StoreError(err error) error {
	if err == nil {
		return nil
	}
	_, unsealed := errors.AsType[*store.SealError](err)
	if unsealed || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrBadID) || errors.Is(err, store.ErrLocked) {
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

	// Needs is the limit on tokens with which the next answer could at least begin, or the
	// limit on tool calls with which the open calls could be carried out; 0 for other limits.
	Needs float64

	Why string // what made the job stop, of a limit without numbers
}

func (e *LimitError) Error() string {
	if e.Why != "" {
		return fmt.Sprintf("the limit on %s is reached: %s", e.Limit, e.Why)
	}
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

// ApproverFailure names the failure of a Run that was ended by an error of the [Approver].
const ApproverFailure = "ApproverError"

// storeFailure names the failure of a Run whose journal accepts no more records.
const storeFailure = "StoreError"

// asStop wraps err so that it is not mistaken for an interrupt by the user.
func asStop(err error) error {
	_, stop := errors.AsType[*StopError](err)
	_, limit := errors.AsType[*LimitError](err)
	if err == nil || stop || limit {
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
