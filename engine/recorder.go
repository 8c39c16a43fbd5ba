package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// A recorder is the single writer of a job's events. All Runs of a job send it their
// events, from any goroutine. One goroutine, that of [Execute], writes and publishes them.
// So the events of a job have one order, and the listener is called from one goroutine.
type recorder struct {
	ctx     context.Context // never cancelled: the end of a cancelled run is written too
	parts   Parts           // has the functions that get events and records
	journal store.Journal

	entries chan entry
	stopped chan struct{} // closed when entries are no longer served

	mu          sync.Mutex
	history     *History
	listenerErr error // why the listener gets no more events
}

// An entry is an event that is sent to the recorder.
type entry struct {
	event event.Event
	mode  entryMode
	done  chan *entryResult // nil if the sender does not wait
}

// An entryMode says what happens to an entry.
type entryMode int

const (
	recordAndPublish entryMode = iota
	recordOnly                 // it belongs to an earlier execution, or was published before
	publishOnly
)

// An entryResult says what became of an entry.
type entryResult struct {
	record store.Record
	state  State // of the event's Run, after the event
	err    error
}

// errStopped is returned for an entry that is not served any more.
var errStopped = errors.New("the job was abandoned")

// maxBatch is how many entries are written together at most.
const maxBatch = 256

func newRecorder(ctx context.Context, parts Parts, journal store.Journal, history *History) *recorder {
	return &recorder{
		ctx: ctx, parts: parts, journal: journal, history: history,
		entries: make(chan entry), stopped: make(chan struct{}),
	}
}

// record records an event and returns the state of its Run after it.
func (r *recorder) record(e event.Event, mode entryMode) (State, error) {
	n := entry{event: e, mode: mode, done: make(chan *entryResult, 1)}
	if !r.send(n) {
		return State{}, errStopped
	}
	select {
	case result := <-n.done:
		return result.state, result.err
	case <-r.stopped:
		return State{}, errStopped
	}
}

// publish publishes an event that is not recorded. It does not wait for the listener.
func (r *recorder) publish(e event.Event) { r.send(entry{event: e, mode: publishOnly}) }

func (r *recorder) send(n entry) bool {
	select {
	case r.entries <- n:
		return true
	case <-r.stopped:
		return false
	}
}

// serve writes entries until done. Entries that are waiting already are written together,
// so that one flush to disk is enough for the ends of many Runs.
func (r *recorder) serve(done <-chan struct{}) {
	for {
		select {
		case n := <-r.entries:
			r.write(r.collect(n))
		case <-done:
			return
		}
	}
}

// collect returns first and the entries that are waiting behind it.
func (r *recorder) collect(first entry) []entry {
	batch := []entry{first}
	for len(batch) < maxBatch {
		select {
		case n := <-r.entries:
			batch = append(batch, n)
		default:
			return batch
		}
	}
	return batch
}

// stop releases all senders. It is called when serve has returned.
func (r *recorder) stop() { close(r.stopped) }

// write appends a batch to the journal, commits it if a Run ends in it, folds it into the
// history and publishes it, in this order. So nothing is published before it is written,
// and the end of a Run is not published before it is durable.
func (r *recorder) write(batch []entry) []entryResult {
	results := make([]entryResult, len(batch))
	ends := false
	for i, n := range batch {
		if n.mode == publishOnly {
			continue
		}
		results[i].record, results[i].err = r.journal.Append(r.ctx, n.event)
		// The ends that recordOnly writes are not published, so they need not be durable
		// first. There can be a thousand of them.
		ends = ends || results[i].err == nil && n.event.IsTerminal() && n.mode == recordAndPublish
	}
	var commitErr error
	if ends {
		commitErr = r.journal.Commit(r.ctx)
	}
	for i, n := range batch {
		if commitErr != nil && n.mode != publishOnly && n.event.IsTerminal() && results[i].err == nil {
			results[i].err = commitErr
		}
		r.foldAndPublish(n, &results[i])
		if n.done != nil {
			n.done <- &results[i]
		}
	}
	return results
}

func (r *recorder) foldAndPublish(n entry, result *entryResult) {
	switch {
	case result.err != nil:
		return
	case n.mode == publishOnly:
		r.emit(n.event)
		return
	}
	r.mu.Lock()
	before, after := r.history.Apply(result.record)
	r.mu.Unlock()
	result.state = after
	tell(r, r.parts.Record, result.record)
	switch {
	case n.mode == recordOnly:
	case r.parts.Lean:
		r.emit(withCalls(after, n.event))
	case !n.event.IsRecordOnly():
		r.emit(expand(before, after, n.event))
	}
}

// emit publishes an event.
func (r *recorder) emit(e event.Event) { tell(r, r.parts.Emit, e) }

// tell calls a listener, unless there is none or one has failed before.
func tell[T any](r *recorder, listener func(T) error, news T) {
	if listener == nil || r.silenced() != nil {
		return
	}
	err := listener(news)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listenerErr = err
}

// silenced returns why the listener gets no more events; nil while it does.
func (r *recorder) silenced() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.listenerErr
}

// view calls f with the history, which does not change meanwhile.
func (r *recorder) view(f func(*History)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r.history)
}

// state returns the newest state of a Run; false if it has not started.
func (r *recorder) state(runID string) (State, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.history.runs[runID]
	return s, ok
}

// point returns a checkpoint.
func (r *recorder) point(checkpointID string) *Point {
	r.mu.Lock()
	defer r.mu.Unlock()
	return new(r.history.points[checkpointID])
}

// commit waits until everything recorded would survive a power cut.
func (r *recorder) commit() error { return r.journal.Commit(r.ctx) }

// commitInBackground commits while the model is asked, so that a step waits for the disk at
// most once. A failure is reported by the next record: a journal that could not be made
// durable accepts no more.
func (r *recorder) commitInBackground() { go func() { _ = r.journal.Commit(r.ctx) }() }
