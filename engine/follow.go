package engine

import (
	"context"
	"errors"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// A Follower writes down a job that an engine runs in another place, and tells it as
// [Execute] would. It owns the history; the other side only says what happened.
//
// The other side may be in hostile hands. So what it says must be of this job, of a Run
// that this stretch of the job has begun, and of a kind that an engine records; how the
// job was left is read off the history, never off what is said of it. A Follower is for
// one goroutine.
type Follower struct {
	job    Job
	store  store.Store
	source Source
	saving context.Context
	desk   *desk

	runID string
	begun map[string]bool // Runs of this stretch: true while they are under way
	named map[string]bool // Runs that others have named as their delegates
	open  map[string]bool // Runs that a crash left open, until they are closed
	held  []event.Event   // kept events from before the job began
	ended bool            // the coordinator has, for good
}

// Follow plans the job and returns its Follower. An error is about the job: nothing was
// started. A job that goes on is locked from here on; a new one when something is written.
func Follow(ctx context.Context, job Job, s store.Store, source Source, listener Listener) (*Follower, error) {
	if err := checkKnown(ctx, job, s); err != nil {
		return nil, err
	}
	f := &Follower{
		job: job, store: s, source: source, saving: context.WithoutCancel(ctx),
		begun: make(map[string]bool), named: make(map[string]bool), open: make(map[string]bool),
	}
	f.desk = newDesk(f.saving, listener, nil, NewHistory())
	if err := f.plan(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (f *Follower) plan(ctx context.Context) error {
	h := f.desk.history
	if f.job.Input.Continue {
		var err error
		if f.desk.journal, err = f.store.Open(ctx, f.job.ID); err != nil {
			return storeError(err)
		}
		if h, err = Load(ctx, f.store, f.job.ID); err != nil {
			return storeError(err)
		}
		f.desk.history = h
	}
	t := &tree{job: f.job, Parts: Parts{Source: f.source}, desk: f.desk}
	st, err := t.plan()
	f.runID = st.runID
	for _, s := range h.Open() {
		f.open[s.RunID] = true
	}
	return err
}

// RunID is that of the coordinator's Run, which the other side must use.
func (f *Follower) RunID() string { return f.runID }

// Begun reports whether anything was recorded in this stretch.
func (f *Follower) Begun() bool { return len(f.begun) > 0 }

// Ended reports whether the coordinator has ended: nothing of the job follows.
func (f *Follower) Ended() bool { return f.ended }

// Silent returns why nobody listens any more, or nil.
func (f *Follower) Silent() error { return f.desk.closed() }

// Records yields the lines of the history up to now, and their number.
func (f *Follower) Records(ctx context.Context) ([][]byte, error) {
	if !f.job.Input.Continue {
		return nil, nil
	}
	var lines [][]byte
	for r, err := range f.store.Read(ctx, f.job.ID, 0) {
		if err != nil {
			return nil, storeError(err)
		}
		lines = append(lines, r.Line)
	}
	return lines, nil
}

// Append writes down and tells what the other side reports. [ErrForged] is wrapped by the
// error about an event that no engine would have sent.
func (f *Follower) Append(e event.Event) (store.Record, error) {
	kind, err := f.admit(e)
	if err != nil {
		return store.Record{}, err
	}
	if err := f.begin(); err != nil {
		return store.Record{}, err
	}
	record, err := f.write(e, kind)
	if err != nil {
		return record, err
	}
	f.note(e, kind)
	return record, f.release()
}

// begin opens the journal of a new job.
func (f *Follower) begin() error {
	if f.desk.journal != nil {
		return nil
	}
	journal, err := f.store.Open(f.saving, f.job.ID)
	if err != nil {
		return storeError(err)
	}
	if err := checkKnown(f.saving, f.job, f.store); err != nil { // again: it may have come into being meanwhile
		return errors.Join(err, journal.Close())
	}
	f.desk.journal = journal
	return nil
}

func (f *Follower) write(e event.Event, kind orderKind) (store.Record, error) {
	o := order{event: e, kind: kind, done: make(chan *filed, 1)}
	f.desk.file([]order{o})
	result := <-o.done
	return result.record, result.err
}

// note keeps track of which Runs are under way.
func (f *Follower) note(e event.Event, kind orderKind) {
	if kind == earlier {
		delete(f.open, e.RunID)
		return
	}
	switch e.Body.(type) {
	case event.StartRun:
		f.begun[e.RunID] = true
		f.name(e.RunID)
	case event.CallDelegate:
		f.name(e.RunID)
	}
	if status, ends := e.EndStatus(); ends {
		f.begun[e.RunID] = false
		f.ended = e.RunID == f.runID && status != event.StatusStoppedByDelegate
	}
}

// name notes the Runs that a Run has handed calls to.
func (f *Follower) name(runID string) {
	for _, c := range f.desk.history.runs[runID].Step.Calls {
		if c.Child != nil {
			f.named[c.Child.RunID] = true
		}
	}
}

// Show tells an event that is not kept. A Run that was asked for may have something to
// tell before it begins: its skills start first.
func (f *Follower) Show(e event.Event) error {
	switch {
	case e.IsKept():
		return forged("an event of type %s is to be recorded, not shown", e.Type())
	case e.JobID != f.job.ID:
		return forged("an event belongs to another job")
	case e.RunID != f.runID && !f.named[e.RunID]:
		return forged("an event belongs to a Run that nobody has asked for")
	}
	f.desk.emit(e)
	return nil
}

func (f *Follower) knows(runID string) bool {
	_, ok := f.begun[runID]
	return ok
}

// Note writes down and tells what happens around the engine: events about the runtime that
// are the host's own. Until the job has begun they are told, and kept for later.
func (f *Follower) Note(body event.Body) error {
	e := event.Event{ID: f.source.NewID(), Timestamp: f.source.Now().UnixMilli(), JobID: f.job.ID, RunID: f.runID, Body: body}
	if f.Begun() && e.IsKept() {
		_, err := f.write(e, keeping)
		return err
	}
	f.desk.emit(e)
	if e.IsKept() {
		f.held = append(f.held, e)
	}
	return nil
}

// release records what was held back until the job began. It was told when it happened.
func (f *Follower) release() error {
	if !f.Begun() {
		return nil
	}
	for len(f.held) > 0 {
		if _, err := f.write(f.held[0], earlier); err != nil {
			return err
		}
		f.held = f.held[1:]
	}
	return nil
}

// Commit makes everything that was recorded survive a power cut.
func (f *Follower) Commit() error {
	if f.desk.journal == nil {
		return nil
	}
	return f.desk.commit()
}

// Abandon records the end of all Runs that are under way, when the other side will not:
// it is gone.
func (f *Follower) Abandon(reason string) error {
	if !f.Begun() {
		return nil
	}
	open := f.desk.history.Open()
	var batch []order
	for i := len(open) - 1; i >= 0; i-- { // the coordinator last
		s := open[i]
		batch = append(batch, order{kind: keeping, done: make(chan *filed, 1), event: event.Event{
			ID: f.source.NewID(), Timestamp: f.source.Now().UnixMilli(), JobID: f.job.ID, RunID: s.RunID,
			ExpertKey: s.Expert.Key, StepNumber: s.StepNumber, Body: event.StopRunByInterrupt{Reason: validText(reason)},
		}})
	}
	f.desk.file(batch) // together, so that the disk is waited for once
	for _, o := range batch {
		if result := <-o.done; result.err != nil {
			return result.err
		}
	}
	return nil
}

// Result says how the job was left.
func (f *Follower) Result() Result { return f.desk.history.result(f.desk.history.runs[f.runID]) }

// Close gives the job free.
func (f *Follower) Close() error {
	if f.desk.journal == nil {
		return nil
	}
	if err := f.desk.journal.Close(); err != nil {
		return storeError(err)
	}
	return nil
}
