package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/event"
)

// decide does the work of the current phase and returns the event that came of it. This is
// the only place where a Run has effects.
func (r *run) decide(ctx context.Context) (event.Body, error) {
	if reason, stopping := r.stopRequested(ctx); stopping {
		return r.stopRun(reason), nil
	}
	switch r.state.phase {
	case preparingForStep:
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
		return event.StopRunByInteractiveTool{}, nil
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

const (
	// warnAt is the share of a limit at which a warning is given.
	warnAt = 0.8
	// rounding is what sums of money can lose.
	rounding = 1e-9
)

// limitWarning returns a warning if most of a limit is used, once for each Run and limit.
// The model is told as well if it can still finish what matters most: for all limits but the
// context window.
func (r *run) limitWarning() (event.LimitWarning, bool) {
	s := r.state
	for _, u := range append(r.budget.usage(r.parts.Source.Now()), limitUsage{
		limit: event.LimitContext,
		used:  float64(s.lastUsage.InputTokens + s.lastUsage.OutputTokens),
		max:   float64(s.ContextWindow),
	}) {
		text := u.textForModel()
		if u.max <= 0 || u.used < warnAt*u.max*(1-rounding) || text != "" && u.used >= u.max || slices.Contains(s.warned, u.limit) {
			continue
		}
		warning := event.LimitWarning{Limit: u.limit, Used: u.used, Max: u.max}
		if text != "" {
			warning.NewMessage = r.userMessage(text)
		}
		return warning, true
	}
	return event.LimitWarning{}, false
}

// A limitUsage is how much of a limit is used.
type limitUsage struct {
	limit     string
	used, max float64
}

// textForModel returns the warning for the model; empty for a limit that it is not told of.
func (u limitUsage) textForModel() string {
	var what string
	switch u.limit {
	case event.LimitSteps:
		what = fmt.Sprintf("%.0f of %.0f steps", u.used, u.max)
	case event.LimitTokens:
		what = fmt.Sprintf("%.0f of %.0f tokens", u.used, u.max)
	case event.LimitCost:
		what = fmt.Sprintf("%.4f of %.4f US dollars", u.used, u.max)
	case event.LimitDuration:
		what = fmt.Sprintf("%.0f of %.0f seconds", u.used, u.max)
	default:
		return ""
	}
	return "Note from the runtime: " + what + " of this task are used, and it will be stopped when they run out, so finish what matters most and answer soon."
}
