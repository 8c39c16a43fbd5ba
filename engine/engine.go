package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/store"
)

// A Job is what the engine is asked to do.
type Job struct {
	ID     string // of a new job, or of the one to go on with
	Expert *expert.Expert
	Input  Input

	// Lookup finds an Expert that may be delegated to; nil when there is none. It is called
	// from several goroutines, like Price.
	Lookup func(key string) (*expert.Expert, bool)

	Limits      expert.Limits // of all Runs of the job together; steps are always limited
	MaxDepth    int           // Experts on one path of delegation; 0 means the default
	MaxParallel int           // Runs at once; 0 means the default
	MaxRetries  int           // consecutive failures of one generation
	Timeout     time.Duration // of one generation; 0 for none
	Reasoning   expert.ReasoningBudget

	// MaxOutput is how many tokens an answer of the model can have; 0 when unknown.
	MaxOutput int
	// Price is what a model costs; nil when there is no limit on cost.
	Price func(provider, model string) (expert.Price, bool)

	// What follows is recorded and shown, and changes nothing else.
	Experts       []string // keys of all Experts at hand
	Provider      string
	ModelName     string
	ContextWindow int    // tokens; 0 when unknown
	Runtime       string // local, docker, ...
	Version       string // of perstack
	Workspace     string // as the model is told
}

// author names the model that writes the Expert's messages.
func (j Job) author() string {
	if j.Provider == "" {
		return j.ModelName
	}
	return j.Provider + "/" + j.ModelName
}

// An Input says what the user wants from the job now.
type Input struct {
	// Query is a new task, for a new job or for one that goes on.
	Query string
	// Continue goes on with the recorded job. Without a query and an answer, the Run
	// that was left unfinished is resumed.
	Continue bool
	// From is the checkpoint to go on from. Empty means the newest.
	From string
	// Answer is what the user says to a waiting interactive tool. Without a
	// ToolCallID it answers the first one that waits.
	Answer *event.ToolAnswer
}

// Parts are what the engine works with.
type Parts struct {
	Model model.Model
	// Skills starts an Expert's skills. It is called when the run has been announced, on
	// a goroutine of its own.
	Skills func(context.Context, SkillRequest) (*skill.Toolbox, error)
	Store  store.Store
	Source Source

	Listener

	// Redact takes secrets out of text that comes in (redact.go); nil leaves it as it
	// is. It is called from several goroutines.
	Redact func(string) string

	// Parallel is how many tool calls of one turn run at once; 0 means 16.
	Parallel int
	Log      *slog.Logger
}

// A SkillRequest says whose skills are to be started, and whom to tell about them.
type SkillRequest struct {
	Expert *expert.Expert
	// Delegates are the Experts that it can call, as tools.
	Delegates []*expert.Expert
	// Delegated says that another Expert asked: nobody is there to answer questions.
	Delegated bool
	// Report publishes what happens to skills, for as long as the run lasts. It may be
	// called from any goroutine and never waits.
	Report func(event.Body)
	// Stop ends the run with an error, like a [StopError] as the cause of a
	// cancellation. It may be called from any goroutine.
	Stop func(error)
}

// A Listener is told what happens. All its functions are called from the goroutine of
// [Execute], in the order of the events. An error of any means that nobody listens any more: the
// run is stopped and saved.
type Listener struct {
	// Emit receives every event, once it is recorded if it is one of those that are.
	Emit func(event.Event) error
	// Full says that Emit wants events in their full form. Else it gets what the journal
	// has, and of a question also the call.
	Full bool
	// Record receives every record of the journal.
	Record func(store.Record) error
}

// A Result says how a job was left.
type Result struct {
	JobID        string
	RunID        string
	CheckpointID string
	Status       event.Status
	TotalSteps   int              // of all Runs of the job
	Text         string           // the answer, when completed
	Pending      []event.ToolCall // what waits for the user
	Failure      *event.Failure   // why it was stopped, when by an error
	Reason       string           // why it was interrupted, or which limit it met
	Limit        *LimitError      // the limit it met, when stopped by one
	Usage        event.Usage      // of the coordinator's conversation
}

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
	// Opening an unknown job would create it, so look first.
	known, err := exists(ctx, parts.Store, job.ID)
	switch {
	case err != nil:
		return Result{}, err
	case job.Input.Continue && !known:
		return Result{}, inputError("no such job: %s; perstack log lists the jobs", job.ID)
	case !job.Input.Continue && known:
		return Result{}, inputError("job %s exists already; continue it with --continue-job %s", job.ID, job.ID)
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
	d := newDesk(parts.Listener, journal, context.WithoutCancel(ctx), history)
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
