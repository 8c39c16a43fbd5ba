package engine

import (
	"context"
	"fmt"

	"github.com/perstack-go/perstack/event"
)

// decide does the work of the current phase and returns what came of it. This is the
// only place where a run has effects.
func (r *run) decide(ctx context.Context) (event.Body, error) {
	if h, stop := r.halted(ctx); stop {
		return r.settle(h), nil
	}
	switch r.state.Phase {
	case PreparingForStep:
		if err := r.beside(func() error { return r.toolbox.Ready(ctx) }); err != nil {
			return nil, asStop(err)
		}
		return r.prepare(ctx), nil
	case GeneratingToolCall:
		return r.generateToolCall(ctx), nil
	case CallingTool:
		return r.callTools(ctx)
	case ResolvingToolResult:
		return event.FinishToolCall{ToolMessage: r.toolMessageRef(r.state.Step.Calls)}, nil
	case GeneratingRunResult:
		return r.generateRunResult(ctx), nil
	case CallingDelegate:
		return event.StopRunByDelegate{}, nil
	case CallingInteractiveTool:
		return event.StopRunByInteractiveTool{}, nil
	case FinishingStep:
		return r.finishStep(ctx), nil
	}
	return nil, fmt.Errorf("internal error: nothing to do in phase %d; please report it", r.state.Phase)
}

// prepare opens a step: with the calls that are still open, or by asking the model.
func (r *run) prepare(ctx context.Context) event.Body {
	r.flight.clear() // models may use an id again in another turn
	calls := r.state.open()
	if len(calls) > 0 {
		_ = r.step(r.purse, false) // it asks nobody, so nothing can refuse it
		if len(r.state.Pending()) > 0 || completed(calls) {
			return event.ResumeToolCalls{}
		}
		return event.FinishAllToolCalls{ToolMessage: r.toolMessageRef(calls)}
	}
	if warning, due := r.notice(); due {
		return warning
	}
	if r.refused = r.step(r.purse, true); r.refused != nil {
		h, _ := r.halted(ctx)
		return r.settle(h)
	}
	return event.StartGeneration{}
}

// finishStep goes on to the next step, unless the Run goes in a circle or no step is left.
func (r *run) finishStep(ctx context.Context) event.Body {
	if n := r.state.Repeated.count; n >= maxRepeated {
		r.refused = &LimitError{Limit: event.LimitLoop, Used: float64(n), Max: maxRepeated}
		h, _ := r.halted(ctx)
		return r.settle(h)
	}
	if !r.stepsLeft(r.purse) {
		return event.StopRunByExceededMaxSteps{}
	}
	return event.ContinueToNextStep{NextCheckpointID: r.Source.NewID()}
}

// toolMessageRef makes the ids of a tool message for the results of calls.
func (r *run) toolMessageRef(calls []Call) *event.ToolMessageRef {
	ref := &event.ToolMessageRef{ID: r.Source.NewID(), PartIDs: []string{}}
	for range results(calls) {
		ref.PartIDs = append(ref.PartIDs, r.Source.NewID())
	}
	return ref
}
