package engine

import (
	"bytes"
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// This file decides what a [Follower] accepts from a remote engine that can be hostile.

// admit decides whether an event is recorded, and whether it is published.
func (f *Follower) admit(e event.Event) (entryMode, error) {
	switch {
	case !e.IsKept() || e.IsRuntime():
		return 0, forged("an engine does not record events of type %s", e.Type())
	case e.JobID != f.spec.JobID:
		return 0, forged("an event belongs to another job")
	case f.ended:
		return 0, forged("the job has ended already")
	case store.CheckID(e.ID) != nil:
		return 0, forged("an event has an invalid id")
	}
	if _, closes := e.Body.(event.StopRunByInterrupt); closes && f.crashed[e.RunID] && !f.Begun() {
		return recordOnly, nil
	}
	if store.CheckID(e.RunID) != nil {
		return 0, forged("a Run has an invalid id")
	}
	if b, ok := e.Body.(event.StartRun); ok {
		return recordAndPublish, f.admitStart(e, b)
	}
	if !f.started[e.RunID] {
		return 0, forged("its Run is not active")
	}
	if b, ok := e.Body.(event.PlanAccepted); ok {
		c, _ := f.openCall(e.RunID, b.ToolCallID)
		if !f.recorder.history.runs[e.RunID].Planning() || !c.isAcceptedPlan() {
			return 0, forged("it accepts a plan that the user did not")
		}
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
		return forged("a checkpoint has an invalid id, or that of another one")
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
	case f.recorder.history.runs[e.RunID].phase != preparingForStep:
		return forged("a step starts inside another one")
	case f.spec.Limits.MaxSteps > 0 && f.recorder.history.Job.TotalSteps > 2*f.spec.Limits.MaxSteps+maxExtraStarts:
		// Twice, because steps that only finish open calls count here but not in the limit.
		return forged("far more steps start than the job is allowed")
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
			return forged("a Run starts from an unknown checkpoint")
		}
	}
	if _, exists := f.recorder.history.runs[e.RunID]; exists && from.State.RunID != e.RunID {
		return forged("a Run that was recorded earlier starts again")
	}
	by := b.DelegatedBy
	// Not the checkpoint counts: it can be from before the Run planned.
	plans := f.plans
	switch runs := f.recorder.history.runs; {
	case by != nil:
		plans = runs[by.RunID].Planning()
	case f.hasStarted(e.RunID):
		plans = runs[e.RunID].Planning()
	}
	switch {
	case b.Plan != plans:
		return forged("a Run starts to plan, or no longer plans, although the user did not say so")
	case !f.attaches(e.RunID, b):
		return forged("a Run starts with other attachments than the user gave")
	case !f.matches(e.RunID, b):
		return forged("a Run starts with another model, other limits or another isolation than the job has")
	case f.started[e.RunID]:
		return forged("a Run starts twice")
	case f.spec.Limits.MaxSteps > 0 && len(f.started) > f.spec.Limits.MaxSteps+maxExtraStarts:
		return forged("more Runs start than the job has steps for")
	case e.RunID == f.runID && by == nil && b.Expert.Key == f.spec.Expert:
		return nil
	case e.RunID == f.runID || by == nil || !f.hasStarted(by.RunID) || f.expected[e.RunID] != b.Expert.Key:
		return forged("a Run starts that no Run has delegated to")
	}
	return nil
}

// hasStarted reports whether a Run was started in this execution. It can have ended since.
func (f *Follower) hasStarted(runID string) bool {
	_, ok := f.started[runID]
	return ok
}

// attaches reports whether a Run starts with the files that the user attached: the coordinator, once.
func (f *Follower) attaches(runID string, b event.StartRun) bool {
	if runID != f.runID || f.hasStarted(runID) {
		return len(b.Attachments) == 0
	}
	return slices.EqualFunc(b.Attachments, f.spec.Input.Attachments, func(a, b event.Attachment) bool {
		return a.Name == b.Name && a.MIMEType == b.MIMEType && a.Size == b.Size && a.Digest == b.Digest && len(a.Unknown) == 0
	})
}

// matches reports whether a Run starts with the settings of the job. A job that is continued
// takes its model, limits and isolation from the recorded Spec. A container that could
// record another one would choose its own isolation for the next time.
func (f *Follower) matches(runID string, b event.StartRun) bool {
	e, ok := f.spec.Lookup(b.Expert.Key)
	if !ok {
		return false
	}
	if m := f.spec.ModelOf(e); b.Provider != m.Provider || b.Model != m.Model || b.Runtime != f.spec.Runtime {
		return false
	}
	if runID != f.runID || f.hasStarted(runID) {
		return len(b.Spec) == 0 && !b.TrustedHistory
	}
	return bytes.Equal(b.Spec, f.specText) && b.TrustedHistory == f.spec.Input.TrustHistory
}
