package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/store"
)

// crashed is the reason recorded for a Run whose process ended without a word.
const crashed = "the process ended before it could save"

// A run drives one Run of a job.
type run struct {
	job Job
	Parts
	journal store.Journal
	history *History
	toolbox *skill.Toolbox

	runID  string
	state  State
	flight flight // tool calls under way

	connected []string // names of the skills that were announced

	saving     context.Context // never cancelled: the end of a cancelled run is written too
	committing chan error      // of a commit that runs beside a model call
	silent     error           // why nobody is told any more
}

func (r *run) execute(ctx context.Context) (Result, error) {
	r.saving = context.WithoutCancel(ctx)
	defer r.closeSkills()
	if err := r.loadHistory(ctx); err != nil {
		return Result{}, err
	}
	first, err := r.begin()
	if err != nil {
		return Result{}, err
	}
	r.runID = first.runID
	r.state.StepNumber = first.step
	before := r.originDefinition(first.body.From)

	r.publish(r.announcement())
	toolbox, skillErr := r.Skills(ctx, func(body event.Body) {
		if b, ok := body.(event.SkillConnected); ok {
			r.connected = append(r.connected, b.SkillName)
		}
		r.publish(body)
	})
	r.toolbox = toolbox
	if err := r.recordAt(first.step, first.body); err != nil {
		return r.abandon(err)
	}
	if before != "" && before != first.body.Definition {
		err := r.record(event.DefinitionChanged{Expert: r.job.Expert.Key, Before: before, After: first.body.Definition})
		if err != nil {
			return r.abandon(err)
		}
	}
	if skillErr == nil {
		skillErr = r.toolbox.Recall(r.state.Memory)
	}
	return r.loop(ctx, skillErr)
}

// loadHistory folds what the journal has, and closes a Run that a crash left open.
func (r *run) loadHistory(ctx context.Context) error {
	if !r.job.Input.Continue {
		for _, err := range r.Store.Read(ctx, r.job.ID, 0) {
			if err == nil {
				return inputError("job %s exists already; continue it with --continue-job %s", r.job.ID, r.job.ID)
			}
			if !errors.Is(err, store.ErrNotFound) {
				return storeError(err)
			}
		}
		return nil
	}
	history, err := Load(ctx, r.Store, r.job.ID)
	if err != nil {
		return storeError(err)
	}
	r.history = history
	open, ok := history.Open()
	if !ok {
		return nil
	}
	if open.Expert.Key != r.job.Expert.Key {
		return mismatch(open.Expert.Key, r.job.Expert.Key)
	}
	// The end of the earlier stretch is recorded, but not shown: it is not part of
	// what happens now.
	r.runID = open.RunID
	_, _, err = r.write(r.stamp(open.StepNumber, event.StopRunByInterrupt{Reason: crashed}))
	if err != nil {
		return storeError(err)
	}
	return nil
}

// loop goes round until the Run has stopped. A failure that nothing else caught, err
// included, ends in a terminal event like everything else.
func (r *run) loop(ctx context.Context, err error) (Result, error) {
	for r.state.Phase != Stopped {
		var body event.Body
		if err == nil {
			body, err = r.decide(ctx)
		}
		if err != nil {
			body, err = r.giveUp(ctx, err), nil
		}
		if recordErr := r.record(body); recordErr != nil {
			return r.abandon(recordErr)
		}
	}
	return r.result(), nil
}

// giveUp turns an error into the event that ends the Run.
func (r *run) giveUp(ctx context.Context, err error) event.Body {
	if reason, stop := r.interrupted(ctx); stop {
		return event.StopRunByInterrupt{Reason: reason}
	}
	return event.StopRunByError{Error: event.Failure{Name: "RuntimeError", Message: err.Error()}}
}

// interrupted reports whether the run was told to stop, and why.
func (r *run) interrupted(ctx context.Context) (string, bool) {
	switch {
	case r.silent != nil:
		return fmt.Sprintf("output closed: %v", r.silent), true
	case ctx.Err() != nil:
		return context.Cause(ctx).Error(), true
	}
	return "", false
}

// abandon ends a run whose journal takes no more records. One last record is tried:
// a store keeps some room for it.
func (r *run) abandon(err error) (Result, error) {
	r.Log.Error("the journal cannot be written", "error", err)
	if r.state.Phase != Stopped && r.state.Phase != Init {
		failure := event.Failure{Name: "StoreError", Message: err.Error()}
		if lastErr := r.record(event.StopRunByError{Error: failure}); lastErr != nil {
			return r.result(), storeError(err)
		}
	}
	return r.result(), storeError(err)
}

// closeSkills stops what still runs. Nothing of a run outlives it.
func (r *run) closeSkills() {
	for {
		if _, ok := r.flight.stopOne(); !ok {
			break
		}
	}
	if r.toolbox == nil {
		return
	}
	if err := r.toolbox.Close(); err != nil {
		r.Log.Warn("skills did not close cleanly", "error", err)
	}
	for _, name := range r.connected {
		r.publish(event.SkillDisconnected{SkillName: name})
	}
}

// announcement is the event that opens every stretch of a Run.
func (r *run) announcement() event.InitializeRuntime {
	return event.InitializeRuntime{
		RuntimeVersion:      r.job.Version,
		Runtime:             r.job.Runtime,
		ExpertName:          r.job.Expert.Name,
		Experts:             append([]string{}, r.job.Experts...),
		Model:               r.job.ModelName,
		MaxSteps:            r.job.MaxSteps,
		MaxRetries:          r.job.MaxRetries,
		Timeout:             r.job.Timeout.Milliseconds(),
		Query:               r.job.Input.Query,
		InteractiveToolCall: r.job.Input.Answer,
	}
}

// originDefinition returns the digest that the conversation was last run with.
func (r *run) originDefinition(from *event.Origin) string {
	if from == nil {
		return ""
	}
	return r.history.points[from.CheckpointID].State.Definition
}

func (r *run) result() Result {
	s := r.state
	result := Result{
		JobID: r.job.ID, RunID: r.runID, CheckpointID: s.CheckpointID,
		Status: s.Status, StepNumber: s.StepNumber, Failure: s.Failure, Usage: s.Usage,
	}
	switch s.Status {
	case event.StatusCompleted:
		result.Text = s.Thread.Last().Text()
	case event.StatusStoppedByInteractiveTool:
		result.Pending = s.Pending()
	case event.StatusStoppedByInterrupt:
		result.Reason = s.StopReason
	}
	return result
}
