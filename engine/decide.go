package engine

import (
	"context"
	"fmt"

	"github.com/perstack-go/perstack/event"
)

// decide does the work of the current phase and returns the event that came of it. This is
// the only place where a Run has effects.
func (r *run) decide(ctx context.Context) (event.Body, error) {
	if reason := r.stopRequested(ctx); reason != nil {
		return r.stopRun(reason), nil
	}
	if r.delegatesWait {
		return event.StopRunByApproval{}, nil
	}
	switch r.state.phase {
	case preparingForStep:
		if r.planTools && !r.state.Planning() {
			if r.parts.Container != nil {
				return event.StopRunByInterrupt{Reason: planEnded}, nil
			}
			if err := r.endPlanning(ctx); err != nil {
				return nil, err
			}
		}
		if err := r.publishDuring(func() error { return r.toolbox.Ready(ctx) }); err != nil {
			return nil, asStop(err)
		}
		return r.prepareStep(), nil
	case generatingToolCall:
		return r.generateToolCall(ctx), nil
	case callingTool:
		return r.callTools(ctx)
	case resolvingToolResult:
		return event.FinishToolCall{ToolMessage: r.toolMessageRef(r.state.Step.Calls)}, nil
	case generatingRunResult:
		return r.generateRunResult(ctx), nil
	case callingDelegate:
		return event.StopRunByDelegate{}, nil
	case callingInteractiveTool:
		return r.ask(ctx)
	case finishingStep:
		return r.finishStep(), nil
	}
	return nil, fmt.Errorf("internal error: nothing to do in phase %d; please report it", r.state.phase)
}

// prepareStep starts a step: with the calls that are still open, or by asking the model.
func (r *run) prepareStep() event.Body {
	r.inFlight.reset() // a model can use the same call id again in another turn
	if calls := r.state.open(); len(calls) > 0 {
		_ = r.budget.takeStep(false)
		if len(r.state.Pending()) > 0 || completed(calls) {
			return event.ResumeToolCalls{}
		}
		return event.FinishAllToolCalls{ToolMessage: r.toolMessageRef(calls)}
	}
	if note := r.spec.Input.Note; note != "" && r.parent == nil && !r.noted {
		r.noted = true
		return event.RuntimeNote{NewMessage: r.userMessage("Note from the runtime: " + note)}
	}
	if warning, ok := r.limitWarning(); ok {
		return warning
	}
	if limit := r.budget.takeStep(true); limit != nil {
		return r.stopByLimit(limit)
	}
	return event.StartGeneration{}
}

// finishStep continues to the next step, unless the Run repeats itself or has no step left.
func (r *run) finishStep() event.Body {
	if n := r.state.repeated.count; n >= maxRepeated {
		return r.stopByLimit(&LimitError{Limit: event.LimitLoop, Used: float64(n), Max: maxRepeated})
	}
	if n := r.state.denials; n >= maxDenials {
		return r.stopByLimit(&LimitError{Limit: event.LimitDenials, Used: float64(n), Max: maxDenials})
	}
	if !r.budget.hasSteps() {
		return event.StopRunByExceededMaxSteps{}
	}
	return event.ContinueToNextStep{NextCheckpointID: r.newID()}
}

// toolMessageRef makes the ids of a tool message for the results of calls.
func (r *run) toolMessageRef(calls []Call) *event.ToolMessageRef {
	ref := &event.ToolMessageRef{ID: r.newID(), PartIDs: []string{}}
	for range results(calls) {
		ref.PartIDs = append(ref.PartIDs, r.newID())
	}
	return ref
}
