package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/perstack-go/perstack/store"
)

// An Error is a failure of the engine's caller or surroundings, by kind.
type Error struct {
	Kind Kind
	Err  error
}

// Kind sorts errors by who can do something about them.
type Kind string

// The kinds of [Error].
const (
	KindInput Kind = "input" // what was asked for cannot be done; nothing was started
	KindStore Kind = "store" // the history could not be read or written
)

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

func inputError(format string, args ...any) error {
	return &Error{KindInput, fmt.Errorf(format, args...)}
}

// Execute runs a job until it completes, waits for the user or is stopped. However
// it ends, the end is recorded and told by the Result; an error means that nothing was
// started, or that the end itself could not be recorded.
//
// Cancelling ctx stops the run: the call under way is given up, the state is saved, and
// the cause of the cancellation is recorded as the reason. With a [LimitError] as its
// cause, the Run is stopped by that limit.
func Execute(ctx context.Context, job Job, parts Parts) (result Result, err error) {
	if parts.Parallel == 0 {
		parts.Parallel = 16
	}
	if parts.Redact == nil {
		parts.Redact = func(text string) string { return text }
	}
	if err := checkKnown(ctx, job, parts.Store); err != nil {
		return Result{}, err
	}
	journal, err := parts.Store.Open(ctx, job.ID)
	if err != nil {
		return Result{}, storeError(err)
	}
	defer func() { // also when whoever listens panics
		if closeErr := journal.Close(); closeErr != nil && err == nil {
			err = storeError(closeErr)
		}
	}()
	return executeIn(ctx, journal, job, parts)
}

// executeIn runs a job in its open journal.
func executeIn(ctx context.Context, journal store.Journal, job Job, parts Parts) (Result, error) {
	history := NewHistory()
	if job.Input.Continue {
		var err error
		if history, err = Load(ctx, parts.Store, job.ID); err != nil {
			return Result{}, storeError(err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d := newDesk(context.WithoutCancel(ctx), parts.Listener, journal, history)
	t := newTree(job, parts, d)
	var result Result
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, err = t.coordinate(ctx)
	}()
	defer func() {
		// If whoever listens panics, that is on its way now. Nothing of the job may be at
		// work when it arrives.
		cancel()
		d.leave()
		<-done
	}()
	d.serve(done)
	return result, err
}

// checkKnown reports a job that should exist and does not, or the other way round. Opening
// an unknown job would create it, so this looks first.
func checkKnown(ctx context.Context, job Job, s store.Store) error {
	known, err := exists(ctx, s, job.ID)
	switch {
	case err != nil:
		return err
	case job.Input.Continue && !known:
		return inputError("no such job: %s; perstack log lists the jobs", job.ID)
	case !job.Input.Continue && known:
		return inputError("job %s exists already; continue it with --continue-job %s", job.ID, job.ID)
	}
	return nil
}

// exists reports whether a job has any record.
func exists(ctx context.Context, s store.Store, jobID string) (bool, error) {
	for _, err := range s.Read(ctx, jobID, 0) {
		var damage *store.DamageError
		switch {
		case errors.Is(err, store.ErrNotFound):
			return false, nil
		case errors.As(err, &damage) && damage.Torn && damage.Seq == 1:
			return false, nil // a power cut left nothing of it
		}
		if err != nil {
			return false, storeError(err)
		}
		return true, nil
	}
	return false, nil
}

// storeError gives an error of the store its kind.
func storeError(err error) error {
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrBadID) || errors.Is(err, store.ErrLocked) {
		return &Error{KindInput, err}
	}
	return &Error{KindStore, err}
}
