package engine

import (
	"context"
	"errors"

	"github.com/perstack-go/perstack/event"
)

// giveUp turns an error into the event that ends the Run, or leads to its end.
func (r *run) giveUp(ctx context.Context, err error) event.Body {
	if h, stop := r.halted(ctx); stop {
		return r.settle(h)
	}
	failure := event.Failure{Name: "RuntimeError", Message: validText(err.Error())}
	if stop, ok := errors.AsType[*StopError](err); ok {
		failure.Name = stop.Name
	}
	return event.StopRunByError{Error: failure}
}

// storeFailure names the failure of a Run whose journal takes no more records.
const storeFailure = "StoreError"

// abandon ends a run whose journal takes no more records. One last record is tried:
// a store keeps some room for it.
func (r *run) abandon(err error) (Result, error) {
	if r.state.Phase != Stopped && r.state.Phase != Init {
		last := event.StopRunByError{Error: event.Failure{Name: storeFailure, Message: validText(err.Error())}}
		if lastErr := r.keep(last); lastErr != nil {
			r.Log.Debug("the end of the run could not be recorded", "error", lastErr)
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
	if r.toolbox != nil {
		if err := r.beside(r.toolbox.Close); err != nil {
			r.Log.Warn("skills did not close cleanly", "error", err)
		}
	}
	r.tell()
	r.reports.close()
	for _, name := range r.connected {
		r.show(event.SkillDisconnected{SkillName: name})
	}
}

func (r *run) result() (result Result) {
	r.look(func(h *History) { result = h.result(r.state) })
	if result.Status == event.StatusStoppedByLimit {
		result.Limit = r.limit
	}
	return result
}

// result says how a Run has left its job.
func (h *History) result(s State) Result {
	result := Result{
		JobID: s.JobID, RunID: s.RunID, CheckpointID: s.CheckpointID, TotalSteps: h.Job.TotalSteps,
		Status: s.Status, Failure: s.Failure, Reason: s.StopReason, Usage: s.Usage,
	}
	switch s.Status {
	case event.StatusCompleted:
		result.Text = s.Thread.Last().Text()
	case event.StatusStoppedByInteractiveTool:
		result.Pending = s.Pending()
	}
	return result
}
