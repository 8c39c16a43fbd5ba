package engine

import (
	"context"
	"errors"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/store"
)

// A Follower records a job that an engine runs elsewhere, for example in a container, and
// publishes its events as [Execute] would. It owns the journal; the remote engine only
// reports what happened.
//
// The remote engine can be hostile. So an event must belong to this job, to a Run that was
// started in this execution, and to a kind that an engine records (admit.go). The result of
// the job is read from the history, never from what is reported about it. A Follower must be
// used from one goroutine.
type Follower struct {
	spec      job.Spec
	specText  rawjson.Value // as the container must report it
	cleanSpec rawjson.Value // as it is recorded, without secrets
	parts     Parts
	recorder  *recorder

	runID    string            // of the coordinator
	started  map[string]bool   // Runs of this execution; true until they end
	expected map[string]string // Runs that were assigned to calls of delegates, and their Experts
	crashed  map[string]bool   // Runs that a crash left open, until they are closed
	early    []event.Event     // published before the first record, to be recorded after it
	ended    bool              // the coordinator has ended for good
	plans    bool              // the job only plans at first

	snapshots *snapshotter
	touched   map[string]bool                       // Runs that started a call in their present step
	limit     *LimitError                           // that the host met
	decided   map[waitingKey]Decision               // about calls that have not started
	answers   map[waitingKey]event.ApprovalAnswered // of the user in this execution; the remote engine reports them, too
}

// Follow plans the job and returns its Follower. An error means that the job is invalid and
// nothing was started. A job that is continued is locked from here on, a new job from its
// first record on.
func Follow(ctx context.Context, spec job.Spec, parts Parts) (*Follower, error) {
	if err := CheckExists(ctx, spec, parts.Store); err != nil {
		return nil, err
	}
	f := &Follower{
		spec: spec, parts: parts, recorder: newRecorder(context.WithoutCancel(ctx), parts, nil, nil),
		started: make(map[string]bool), expected: make(map[string]string), crashed: make(map[string]bool),
		decided: make(map[waitingKey]Decision), answers: make(map[waitingKey]event.ApprovalAnswered),
	}
	var err error
	if f.specText, err = spec.Recorded(); err != nil {
		return nil, inputError("the Spec cannot be written: %v", err)
	}
	f.cleanSpec = parts.redactSpec(f.specText)
	if err := f.open(ctx); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	f.snapshots, f.touched = newSnapshotter(&f.spec, &f.parts, f.recorder.history), make(map[string]bool)
	return f, nil
}

// open opens the journal of a job that is continued, and plans the job.
func (f *Follower) open(ctx context.Context) (err error) {
	if f.spec.Input.Continue {
		if f.recorder.journal, err = f.parts.Store.Open(ctx, f.spec.JobID); err != nil {
			return StoreError(err)
		}
	}
	if f.recorder.history, err = openHistory(ctx, f.recorder.journal, f.spec, f.parts); err != nil {
		return err
	}
	st, err := plan(f.spec, f.parts.Source, f.recorder.history)
	f.runID, f.plans = st.runID, st.onlyPlans(&f.spec)
	for _, s := range f.recorder.history.Open() {
		f.crashed[s.RunID] = true
	}
	return err
}

// RunID returns the id of the coordinator's Run, which the remote engine must use.
func (f *Follower) RunID() string { return f.runID }

// Plans reports whether the job only plans at first: then nothing in the remote engine's place can
// change files or reach hosts.
func (f *Follower) Plans() bool { return f.plans }

// PlanAccepted reports whether the user has accepted a plan since. The remote engine then stops.
func (f *Follower) PlanAccepted() bool {
	return f.plans && f.recorder.history.runs[f.runID].PlanAccepted()
}

// Begun reports whether a Run was recorded in this execution.
func (f *Follower) Begun() bool { return len(f.started) > 0 }

// Ended reports whether the coordinator has ended, so that nothing can follow.
func (f *Follower) Ended() bool { return f.ended }

// Silent returns why the listener gets no more events; nil while it does.
func (f *Follower) Silent() error { return f.recorder.silenced() }

// Records returns the lines of the journal so far.
func (f *Follower) Records(ctx context.Context) ([][]byte, error) {
	if !f.spec.Input.Continue {
		return nil, nil
	}
	var lines [][]byte
	for r, err := range f.parts.Store.Read(ctx, f.spec.JobID, 0) {
		if err != nil {
			return nil, StoreError(err)
		}
		lines = append(lines, r.Line)
	}
	return lines, nil
}

// Append records and publishes an event that the remote engine reports. The error wraps
// [ErrForged] if no engine running this job would send the event.
func (f *Follower) Append(e event.Event) (store.Record, error) {
	if f.isRecorded(e) {
		return store.Record{Seq: f.recorder.history.last.Seq, Event: e}, nil
	}
	mode, err := f.admit(e)
	if err == nil {
		e, err = f.admitApproval(e)
	}
	if err != nil {
		return store.Record{}, err
	}
	if err := f.openNew(); err != nil {
		return store.Record{}, err
	}
	if err := f.storeFiles(e); err != nil {
		return store.Record{}, err
	}
	if b, ok := e.Body.(event.StartRun); ok && len(b.Spec) > 0 {
		b.Spec = f.cleanSpec
		e.Body = b
	}
	record, err := f.write(e, mode)
	if err != nil {
		return record, err
	}
	f.track(e, mode)
	return record, f.recordEarly()
}

// openNew opens the journal of a new job.
func (f *Follower) openNew() error {
	if f.recorder.journal != nil {
		return nil
	}
	journal, err := f.parts.Store.Open(f.recorder.ctx, f.spec.JobID)
	if err != nil {
		return StoreError(err)
	}
	if err := CheckExists(f.recorder.ctx, f.spec, f.parts.Store); err != nil { // again: it can have been created since
		return errors.Join(err, journal.Close())
	}
	f.recorder.journal = journal
	return nil
}

func (f *Follower) write(e event.Event, mode entryMode) (store.Record, error) {
	result := f.recorder.write([]entry{{event: e, mode: mode}})[0]
	return result.record, result.err
}

// track keeps track of which Runs have started, ended, or are expected.
func (f *Follower) track(e event.Event, mode entryMode) {
	if mode == recordOnly {
		delete(f.crashed, e.RunID)
		return
	}
	switch e.Body.(type) {
	case event.StartRun:
		f.started[e.RunID] = true
		f.expectDelegates(e.RunID)
	case event.CallDelegate:
		f.expectDelegates(e.RunID)
	}
	if status, ends := e.EndStatus(); ends {
		f.started[e.RunID] = false
		f.ended = e.RunID == f.runID && status != event.StatusStoppedByDelegate
	}
}

// expectDelegates adds the Runs that a Run has assigned to its calls of delegates.
func (f *Follower) expectDelegates(runID string) {
	for _, c := range f.recorder.history.runs[runID].Step.Calls {
		if c.Child != nil {
			f.expected[c.Child.RunID] = c.Child.Expert.Key
		}
	}
}

// Show publishes an event that is not recorded. It accepts events of a delegate before its
// first record, because its skills start before that.
func (f *Follower) Show(e event.Event) error {
	switch {
	case e.IsKept():
		return forged("an event of type %s must be recorded, not only shown", e.Type())
	case e.JobID != f.spec.JobID:
		return forged("an event belongs to another job")
	case e.RunID != f.runID && f.expected[e.RunID] == "":
		return forged("an event belongs to a Run that no Run has delegated to")
	}
	f.recorder.emit(e)
	return nil
}

// Note records and publishes an event of the host itself, about the runtime. Before the
// job's first record it is only published, and recorded later.
func (f *Follower) Note(body event.Body) error {
	e := event.Event{ID: f.parts.Source.NewID(), Timestamp: f.parts.Source.Now().UnixMilli(), JobID: f.spec.JobID, RunID: f.runID, Body: body}
	if f.Begun() && e.IsKept() {
		_, err := f.write(e, recordAndPublish)
		return err
	}
	f.recorder.emit(e)
	if e.IsKept() {
		f.early = append(f.early, e)
	}
	return nil
}

// recordEarly records the events that were published before the job's first record.
func (f *Follower) recordEarly() error {
	if !f.Begun() {
		return nil
	}
	for len(f.early) > 0 {
		if _, err := f.write(f.early[0], recordOnly); err != nil {
			return err
		}
		f.early = f.early[1:]
	}
	return nil
}

// Commit makes everything that was recorded survive a power cut.
func (f *Follower) Commit() error {
	if f.recorder.journal == nil {
		return nil
	}
	return f.recorder.commit()
}

// Abandon records the end of all Runs that have not ended, because the remote engine is gone.
func (f *Follower) Abandon(reason string) error {
	if !f.Begun() {
		return nil
	}
	open := f.recorder.history.Open()
	var batch []entry
	for i := len(open) - 1; i >= 0; i-- { // the coordinator last
		batch = append(batch, entry{event: open[i].interruptEvent(f.parts.Source, f.spec.JobID, validText(reason))})
	}
	for _, result := range f.recorder.write(batch) { // together, so that there is only one flush to disk
		if result.err != nil {
			return result.err
		}
	}
	return nil
}

// Result returns how the job ended.
func (f *Follower) Result() Result {
	h := f.recorder.history
	return h.result(h.runs[f.runID])
}

// Close releases the job's lock.
func (f *Follower) Close() error {
	if f.recorder.journal == nil {
		return nil
	}
	if err := f.recorder.journal.Close(); err != nil {
		return StoreError(err)
	}
	return nil
}
