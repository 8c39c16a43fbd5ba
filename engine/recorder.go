package engine

import (
	"context"
	"sync"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// A recorder writes down what happens in a job, and tells it. There is one a job: all
// its Runs put their events into one order here.
type recorder struct {
	Listener
	journal store.Journal
	saving  context.Context // never cancelled: the end of a cancelled run is written too

	mu      sync.Mutex
	history *History
	silent  error // why nobody is told any more
	telling bool  // the listener is being called: a panic now is its own
}

// record appends an event to the journal, folds it in and publishes it, in this order:
// nothing is shown that was not first written, and the end of a run is not shown
// before it would survive a power cut. It returns the state of the event's Run.
func (r *recorder) record(e event.Event) (State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, after, err := r.write(e)
	if err != nil {
		return State{}, err
	}
	if !r.Full {
		r.emit(withQuestion(after, e))
	} else if !e.IsRecordOnly() {
		r.emit(expand(before, after, e))
	}
	return after, nil
}

// recordEarlier records what belongs to an earlier stretch of the job. It is not part
// of what happens now, so it is not published as an event.
func (r *recorder) recordEarlier(e event.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _, err := r.write(e)
	return err
}

// write appends an event and folds it into the history.
func (r *recorder) write(e event.Event) (before, after State, err error) {
	record, err := r.journal.Append(r.saving, e)
	if err != nil {
		return State{}, State{}, err
	}
	if e.IsTerminal() {
		if err := r.journal.Commit(r.saving); err != nil {
			return State{}, State{}, err
		}
	}
	before, after = r.history.Apply(record)
	if r.silent == nil && r.Record != nil {
		r.silent = r.Record(record)
	}
	return before, after, nil
}

// publish shows an event that is not kept.
func (r *recorder) publish(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.emit(e)
}

func (r *recorder) emit(e event.Event) {
	if r.silent == nil && r.Emit != nil {
		r.telling = true
		r.silent = r.Emit(e)
		r.telling = false
	}
}

// closed returns why nobody listens any more, or nil.
func (r *recorder) closed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.silent
}

// totalSteps returns the steps of all Runs of the job so far.
func (r *recorder) totalSteps() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.history.Job.TotalSteps
}

// commit waits until everything recorded would survive a power cut.
func (r *recorder) commit() error { return r.journal.Commit(r.saving) }

// commitBeside starts a commit that runs while the model is asked, so that a step
// waits for the disk at most once. A failure shows at the next record: a journal
// that could not be made durable takes no more.
func (r *recorder) commitBeside() { go func() { _ = r.journal.Commit(r.saving) }() }
