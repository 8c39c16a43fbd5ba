package engine

import (
	"context"
	"sync"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// A desk writes down what happens in a job, and tells it. All Runs of a job hand in
// their events here, from whatever goroutine they are on; one goroutine, that of
// [Execute], serves them one after another. So the events of a job have one order, and
// whoever listens is called from one goroutine only.
type desk struct {
	Listener
	journal store.Journal
	saving  context.Context // never cancelled: the end of a cancelled run is written too

	orders chan order
	left   chan struct{} // closed when nobody serves any more

	mu      sync.Mutex
	history *History
	silent  error // why nobody is told any more
}

// maxBatch is how many orders are served together at most.
const maxBatch = 256

func newDesk(saving context.Context, listener Listener, journal store.Journal, history *History) *desk {
	return &desk{
		Listener: listener, journal: journal, saving: saving, history: history,
		orders: make(chan order), left: make(chan struct{}),
	}
}

// serve serves orders until done. Orders that wait already are served together, so that
// one flush to the disk does for the ends of many Runs.
func (d *desk) serve(done <-chan struct{}) {
	for {
		select {
		case o := <-d.orders:
			d.file(d.waiting(o))
		case <-done:
			return
		}
	}
}

// waiting returns the order and those that wait behind it.
func (d *desk) waiting(first order) []order {
	batch := []order{first}
	for len(batch) < maxBatch {
		select {
		case o := <-d.orders:
			batch = append(batch, o)
		default:
			return batch
		}
	}
	return batch
}

// leave lets go of everybody who waits. It is for a desk that is not served any more.
func (d *desk) leave() { close(d.left) }

// file writes down what is to be kept, makes it survive a power cut if a Run ends by it,
// folds it in and tells it, in this order: nothing is shown that was not first written,
// and the end of a Run is not shown before it is durable.
func (d *desk) file(batch []order) {
	results := make([]filed, len(batch))
	ends := false
	for i, o := range batch {
		if o.kind == showing {
			continue
		}
		results[i].record, results[i].err = d.journal.Append(d.saving, o.event)
		// The end of an earlier stretch is not told, so nobody waits for the disk: there may
		// be a thousand of them.
		ends = ends || results[i].err == nil && o.event.IsTerminal() && o.kind == keeping
	}
	var unsafe error
	if ends {
		unsafe = d.journal.Commit(d.saving)
	}
	for i, o := range batch {
		if unsafe != nil && o.kind != showing && o.event.IsTerminal() && results[i].err == nil {
			results[i].err = unsafe
		}
		d.tell(o, &results[i])
		if o.done != nil {
			o.done <- &results[i]
		}
	}
}

// tell folds an event into the history and tells it.
func (d *desk) tell(o order, f *filed) {
	switch {
	case f.err != nil:
		return
	case o.kind == showing:
		d.emit(o.event)
		return
	}
	d.mu.Lock()
	before, after := d.history.Apply(f.record)
	d.mu.Unlock()
	f.state = after
	if d.Record != nil && d.closed() == nil {
		d.hush(d.Record(f.record))
	}
	switch {
	case o.kind == earlier:
	case !d.Full:
		d.emit(withCalls(after, o.event))
	case !o.event.IsRecordOnly():
		d.emit(expand(before, after, o.event))
	}
}

func (d *desk) emit(e event.Event) {
	if d.Emit != nil && d.closed() == nil {
		d.hush(d.Emit(e))
	}
}

// hush notes why nobody listens any more.
func (d *desk) hush(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.silent = err
}

// closed returns why nobody listens any more, or nil.
func (d *desk) closed() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.silent
}

// look calls f with the history, which nobody changes meanwhile.
func (d *desk) look(f func(*History)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(d.history)
}

// commit waits until everything recorded would survive a power cut.
func (d *desk) commit() error { return d.journal.Commit(d.saving) }

// commitBeside starts a commit that runs while the model is asked, so that a step
// waits for the disk at most once. A failure shows at the next record: a journal
// that could not be made durable takes no more.
func (d *desk) commitBeside() { go func() { _ = d.journal.Commit(d.saving) }() }
