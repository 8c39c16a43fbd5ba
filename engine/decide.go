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
		return r.prepare(), nil
	case GeneratingToolCall:
		return r.generateToolCall(ctx), nil
	case CallingTool:
		return r.callTools(ctx)
	case ResolvingToolResult:
		return event.FinishToolCall{ToolMessage: r.toolMessageRef(r.state.Step.Calls)}, nil
	case GeneratingRunResult:
		return r.generateRunResult(ctx), nil
	case CallingInteractiveTool:
		return event.StopRunByInteractiveTool{}, nil
	case FinishingStep:
		return r.finishStep(), nil
	}
	return nil, fmt.Errorf("internal error: nothing to do in phase %d; please report it", r.state.Phase)
}

// prepare opens a step: with the calls that are still open, or by asking the model.
func (r *run) prepare() event.Body {
	r.flight.clear() // models may use an id again in another turn
	if warning, due := r.contextWarning(); due {
		return warning
	}
	calls := r.state.open()
	switch {
	case len(calls) == 0:
		return event.StartGeneration{}
	case len(r.state.Pending()) > 0, completed(calls):
		return event.ResumeToolCalls{}
	}
	return event.FinishAllToolCalls{ToolMessage: r.toolMessageRef(calls)}
}

// contextWarning says once that the conversation fills most of the model's window:
// behind its end the provider refuses every further request.
func (r *run) contextWarning() (event.LimitWarning, bool) {
	const most = 0.8
	s := r.state
	used := s.LastUsage.InputTokens + s.LastUsage.OutputTokens
	due := s.ContextWindow > 0 && !s.ContextWarned && float64(used) >= most*float64(s.ContextWindow)
	return event.LimitWarning{Limit: event.LimitContext, Used: float64(used), Max: float64(s.ContextWindow)}, due
}

func (r *run) finishStep() event.Body {
	if r.totalSteps() >= r.job.MaxSteps {
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
