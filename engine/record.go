package engine

import "github.com/perstack-go/perstack/event"

// record appends an event to the journal, folds it into the state and publishes it,
// in this order: nothing is shown that was not first written, and the end of a run
// is not shown before it would survive a power cut.
func (r *run) record(body event.Body) error { return r.recordAt(r.state.StepNumber, body) }

func (r *run) recordAt(step int, body event.Body) error {
	e := r.stamp(step, body)
	before, after, err := r.write(e)
	if err != nil {
		return err
	}
	if !e.IsRuntime() {
		r.state = after
	}
	if r.Full {
		e = expand(before, after, e)
	}
	r.emit(e)
	return nil
}

// write appends an event and folds it into the history.
func (r *run) write(e event.Event) (before, after State, err error) {
	if err := r.joinCommit(); err != nil {
		return State{}, State{}, err
	}
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
func (r *run) publish(body event.Body) { r.emit(r.stamp(r.state.StepNumber, body)) }

func (r *run) emit(e event.Event) {
	if r.silent == nil && r.Emit != nil {
		r.silent = r.Emit(e)
	}
}

func (r *run) stamp(step int, body event.Body) event.Event {
	e := event.Event{
		ID:        r.Source.NewID(),
		Timestamp: r.Source.Now().UnixMilli(),
		JobID:     r.job.ID,
		RunID:     r.runID,
		Body:      body,
	}
	if !e.IsRuntime() {
		e.ExpertKey, e.StepNumber = r.job.Expert.Key, step
	}
	return e
}

// commit waits until everything recorded would survive a power cut.
func (r *run) commit() error {
	if err := r.joinCommit(); err != nil {
		return err
	}
	return r.journal.Commit(r.saving)
}

// commitBeside starts a commit that runs while the model is asked, so that a step
// waits for the disk at most once.
func (r *run) commitBeside() {
	if r.committing != nil {
		return
	}
	done := make(chan error, 1)
	r.committing = done
	go func() { done <- r.journal.Commit(r.saving) }()
}

// joinCommit waits for a commit beside: a journal is for one goroutine at a time.
func (r *run) joinCommit() error {
	if r.committing == nil {
		return nil
	}
	err := <-r.committing
	r.committing = nil
	return err
}
