package engine

import (
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// This file decides what a [Follower] accepts from a remote engine that can be hostile.

// admit decides whether an event is recorded, and whether it is published.
func (f *Follower) admit(e event.Event) (entryMode, error) {
	switch {
	case !e.IsKept() || e.IsRuntime():
		return 0, forged("an event of type %s is not the engine's to record", e.Type())
	case e.JobID != f.job.ID:
		return 0, forged("an event belongs to another job")
	case f.ended:
		return 0, forged("the job has ended already")
	case store.CheckID(e.ID) != nil:
		return 0, forged("an event has no proper id")
	}
	if _, closes := e.Body.(event.StopRunByInterrupt); closes && f.crashed[e.RunID] && !f.Begun() {
		return recordOnly, nil
	}
	if store.CheckID(e.RunID) != nil {
		return 0, forged("a Run has no proper id")
	}
	if b, ok := e.Body.(event.StartRun); ok {
		return recordAndPublish, f.admitStart(e, b)
	}
	if !f.started[e.RunID] {
		return 0, forged("a Run is not under way")
	}
	if b, ok := e.Body.(event.ContinueToNextStep); ok {
		return recordAndPublish, f.admitCheckpoint(b.NextCheckpointID)
	}
	return recordAndPublish, f.admitStep(e)
}

// admitCheckpoint rejects the id of an existing checkpoint. Otherwise a hostile engine could
// replace a checkpoint that the user has seen and continues from.
func (f *Follower) admitCheckpoint(id string) error {
	if _, exists := f.recorder.history.At(id); exists || store.CheckID(id) != nil {
		return forged("a checkpoint has no proper id, or that of another")
	}
	return nil
}

// admitStep decides about an event that starts a step. Such an event is small, but costs the
// host much: a listener can get the whole conversation.
func (f *Follower) admitStep(e event.Event) error {
	switch e.Body.(type) {
	case event.StartGeneration, event.ResumeToolCalls, event.FinishAllToolCalls:
	default:
		return nil
	}
	switch {
	case f.recorder.history.runs[e.RunID].Phase != PreparingForStep:
		return forged("a step begins inside of another")
	case f.job.Limits.MaxSteps > 0 && f.recorder.history.Job.TotalSteps > 2*f.job.Limits.MaxSteps+maxExtraStarts:
		// Twice, because steps that only finish open calls count here but not in the limit.
		return forged("many more steps begin than there are")
	}
	return nil
}

// maxExtraStarts is how many Runs and steps can start beyond the steps that a job is allowed.
// They end at once, because no step is left.
const maxExtraStarts = 10_000

// admitStart decides about the start of a Run: that of the coordinator as it was planned, or
// that of a delegate of a Run that was started in this execution.
func (f *Follower) admitStart(e event.Event, b event.StartRun) error {
	if err := f.admitCheckpoint(b.CheckpointID); err != nil {
		return err
	}
	var from Point
	if b.From != nil {
		var known bool
		if from, known = f.recorder.history.At(b.From.CheckpointID); !known {
			return forged("a Run goes on from an unknown checkpoint")
		}
	}
	if _, exists := f.recorder.history.runs[e.RunID]; exists && from.State.RunID != e.RunID {
		return forged("a Run of earlier begins anew")
	}
	by := b.DelegatedBy
	switch {
	case !f.job.matches(b):
		return forged("a Run begins with another model or other walls than the job has")
	case f.started[e.RunID]:
		return forged("a Run begins twice")
	case f.job.Limits.MaxSteps > 0 && len(f.started) > f.job.Limits.MaxSteps+maxExtraStarts:
		return forged("more Runs begin than there are steps for")
	case e.RunID == f.runID && by == nil && b.Expert.Key == f.job.Expert.Key:
		return nil
	case e.RunID == f.runID || by == nil || !f.hasStarted(by.RunID) || !f.expected[e.RunID]:
		return forged("a Run begins that nobody has asked for")
	}
	return nil
}

// hasStarted reports whether a Run was started in this execution. It can have ended since.
func (f *Follower) hasStarted(runID string) bool {
	_, ok := f.started[runID]
	return ok
}

// matches reports whether a Run starts with the settings of the job. A job that is continued
// takes its model, limits and isolation from this event. A container that could record other
// settings here would choose its own isolation for the next time.
func (j Job) matches(b event.StartRun) bool {
	recorded, own := event.Walls{}, event.Walls{}
	if b.Walls != nil {
		recorded = *b.Walls
	}
	if j.Walls != nil {
		own = *j.Walls
	}
	l := j.Limits
	return b.MaxSteps == l.MaxSteps && b.MaxTokens == l.MaxTokens && b.MaxCost == l.MaxCost && b.MaxDuration == l.MaxDuration.Milliseconds() &&
		b.Provider == j.Provider && b.Model == j.ModelName && b.Runtime == j.Runtime &&
		(b.Walls == nil) == (j.Walls == nil) && recorded.ReadOnlyWorkspace == own.ReadOnlyWorkspace && recorded.BaseImage == own.BaseImage &&
		recorded.Sandbox == own.Sandbox && recorded.SharedCell == own.SharedCell && recorded.Proxy == own.Proxy &&
		slices.Equal(recorded.Env, own.Env) && len(recorded.Unknown) == 0
}
