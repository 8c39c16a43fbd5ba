package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
)

// This file says what a [Follower] accepts of an engine that may be in hostile hands.

// ErrForged says that what was reported is nothing that an engine at work on the job would
// report.
var ErrForged = errors.New("what was reported is not of this job")

func forged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrForged, fmt.Sprintf(format, args...))
}

// admit decides whether an event may be written, and whether it is told.
func (f *Follower) admit(e event.Event) (orderKind, error) {
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
	if _, closes := e.Body.(event.StopRunByInterrupt); closes && f.open[e.RunID] && !f.Begun() {
		return earlier, nil
	}
	if store.CheckID(e.RunID) != nil {
		return 0, forged("a Run has no proper id")
	}
	if b, ok := e.Body.(event.StartRun); ok {
		return keeping, f.admitStart(e, b)
	}
	if !f.begun[e.RunID] {
		return 0, forged("a Run is not under way")
	}
	if b, ok := e.Body.(event.ContinueToNextStep); ok {
		return keeping, f.admitCheckpoint(b.NextCheckpointID)
	}
	return keeping, f.admitStep(e)
}

// admitCheckpoint makes sure that no checkpoint takes the place of another: users go on
// from those that they have seen.
func (f *Follower) admitCheckpoint(id string) error {
	if _, taken := f.desk.history.At(id); taken || store.CheckID(id) != nil {
		return forged("a checkpoint has no proper id, or that of another")
	}
	return nil
}

// admitStep decides about an event that opens a step. It is one of those that make the
// other side's little cost us much: whoever listens may be told the whole conversation.
func (f *Follower) admitStep(e event.Event) error {
	switch e.Body.(type) {
	case event.StartGeneration, event.ResumeToolCalls, event.FinishAllToolCalls:
	default:
		return nil
	}
	switch {
	case f.desk.history.runs[e.RunID].Phase != PreparingForStep:
		return forged("a step begins inside of another")
	case f.job.Limits.MaxSteps > 0 && f.desk.history.Job.TotalSteps > 2*f.job.Limits.MaxSteps+maxIdle:
		// Steps that only take up what is left over count here, and not in the limit.
		return forged("many more steps begin than there are")
	}
	return nil
}

// maxIdle is how many Runs and steps may begin beyond the steps that a job may take: those
// that end at once because none is left.
const maxIdle = 10_000

// admitStart decides about the start of a Run: that of the coordinator as it was planned,
// or one that a Run of this stretch delegates to.
func (f *Follower) admitStart(e event.Event, b event.StartRun) error {
	if err := f.admitCheckpoint(b.CheckpointID); err != nil {
		return err
	}
	var from Point
	if b.From != nil {
		var known bool
		if from, known = f.desk.history.At(b.From.CheckpointID); !known {
			return forged("a Run goes on from an unknown checkpoint")
		}
	}
	if _, ran := f.desk.history.runs[e.RunID]; ran && from.State.RunID != e.RunID {
		return forged("a Run of earlier begins anew")
	}
	by := b.DelegatedBy
	switch {
	case !f.job.recordedAs(b):
		return forged("a Run begins with another model or other walls than the job has")
	case f.begun[e.RunID]:
		return forged("a Run begins twice")
	case f.job.Limits.MaxSteps > 0 && len(f.begun) > f.job.Limits.MaxSteps+maxIdle:
		return forged("more Runs begin than there are steps for")
	case e.RunID == f.runID && by == nil && b.Expert.Key == f.job.Expert.Key:
		return nil
	case e.RunID == f.runID || by == nil || !f.knows(by.RunID) || !f.named[e.RunID]:
		return forged("a Run begins that nobody has asked for")
	}
	return nil
}

// recordedAs reports whether a Run begins as the job says. Whoever goes on with the job
// takes over from there who thinks, its limits and its walls: a container that could write
// something else there would choose how it is held the next time.
func (j Job) recordedAs(b event.StartRun) bool {
	had, have := event.Walls{}, event.Walls{}
	if b.Walls != nil {
		had = *b.Walls
	}
	if j.Walls != nil {
		have = *j.Walls
	}
	l := j.Limits
	return b.MaxSteps == l.MaxSteps && b.MaxTokens == l.MaxTokens && b.MaxCost == l.MaxCost && b.MaxDuration == l.MaxDuration.Milliseconds() &&
		b.Provider == j.Provider && b.Model == j.ModelName && b.Runtime == j.Runtime &&
		(b.Walls == nil) == (j.Walls == nil) && had.ReadOnlyWorkspace == have.ReadOnlyWorkspace && had.BaseImage == have.BaseImage &&
		had.Sandbox == have.Sandbox && had.SharedCell == have.SharedCell && had.Proxy == have.Proxy &&
		slices.Equal(had.Env, have.Env) && len(had.Unknown) == 0
}
