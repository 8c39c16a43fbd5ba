package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/event"
)

// stopRequested returns why the Run must stop; nil if it need not. A [StopError] or a
// [LimitError] decides how it ends; everything else is an interrupt.
func (r *run) stopRequested(ctx context.Context) error {
	if r.limit == nil {
		r.limit = r.toolCallLimit()
	}
	if r.limit != nil {
		return r.limit
	}
	if err := r.recorder.silenced(); err != nil {
		return errors.New("output closed: " + err.Error())
	}
	cause := context.Cause(ctx) // nil if ctx is not cancelled
	if stop, ok := errors.AsType[*StopError](cause); ok && r.parent != nil && r.parentCtx.Err() != nil {
		// A failure of a Run further up is not a failure of this one.
		return errors.New("the Expert that delegated was stopped: " + stop.Error())
	}
	return cause
}

// toolCallLimit returns the limit on tool calls if the job has made more. The calls of a turn
// count together, when they are recorded: those that exceed the limit are not carried out, and
// stay open until the job is resumed with a higher one. Tools that are running are not stopped.
func (r *run) toolCallLimit() *LimitError {
	if r.spec.Limits.MaxToolCalls == 0 || r.inFlight.running > 0 {
		return nil
	}
	usage := r.toolCallUsage()
	if usage.Used <= usage.Max {
		return nil
	}
	open := slices.DeleteFunc(r.state.Pending(), isCompletion)
	return &LimitError{Limit: usage.Limit, Used: usage.Used - float64(len(open)), Max: usage.Max, Needs: usage.Used}
}

func (r *run) toolCallUsage() event.LimitWarning {
	usage := event.LimitWarning{Limit: event.LimitToolCalls, Max: float64(r.spec.Limits.MaxToolCalls)}
	r.recorder.view(func(h *History) { usage.Used = float64(h.toolCalls) })
	return usage
}

// stopByLimit stops the Run by a limit that it has reached itself.
func (r *run) stopByLimit(limit *LimitError) event.Body {
	r.limit = limit
	return r.stopRun(limit)
}

// stopByError turns an error into the event that ends the Run, or that leads to its end.
func (r *run) stopByError(ctx context.Context, err error) event.Body {
	if reason := r.stopRequested(ctx); reason != nil {
		return r.stopRun(reason)
	}
	failure := event.Failure{Name: "RuntimeError", Message: validText(err.Error())}
	if stop, ok := errors.AsType[*StopError](err); ok {
		failure.Name = stop.Name
	}
	return event.StopRunByError{Error: failure}
}

// stopRun returns the next event on the way to the end of the Run: first the results of
// tools that stop, one by one, then the numbers of a limit, then the end. A tool that does
// not stop in time gets no result: its outcome is unknown.
func (r *run) stopRun(reason error) event.Body {
	for result, ok := r.inFlight.stopNext(); ok; result, ok = r.inFlight.stopNext() {
		// A failed call that can be repeated is made again when the Run resumes.
		if tool, _, _ := r.toolbox.Lookup(result.ToolName); !result.IsError || !tool.Repeatable {
			return r.endToolCall(result)
		}
	}
	stop, isStop := errors.AsType[*StopError](reason)
	l, isLimit := errors.AsType[*LimitError](reason)
	switch {
	case isStop:
		return event.StopRunByError{Error: event.Failure{Name: stop.Name, Message: validText(stop.Error())}, Usage: r.lostUsage}
	case !isLimit:
		return event.StopRunByInterrupt{Reason: reason.Error(), Usage: r.lostUsage}
	case l.Limit == event.LimitSteps:
		return event.StopRunByExceededMaxSteps{Usage: r.lostUsage}
	case r.recordedLimit == nil:
		r.recordedLimit = l
		return event.LimitWarning{Limit: l.Limit, Used: l.Used, Max: l.Max}
	default:
		return event.StopRunByLimit{Limit: l.Limit, Usage: r.lostUsage}
	}
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
	for _, w := range append(r.budget.usage(r.parts.Source.Now()), r.toolCallUsage(), event.LimitWarning{
		Limit: event.LimitContext,
		Used:  float64(s.lastUsage.InputTokens + s.lastUsage.OutputTokens),
		Max:   float64(s.ContextWindow),
	}) {
		text := textForModel(w)
		if w.Max <= 0 || w.Used < warnAt*w.Max*(1-rounding) || text != "" && w.Used >= w.Max && w.Limit != event.LimitToolCalls || slices.Contains(s.warned, w.Limit) {
			continue
		}
		if text != "" {
			w.NewMessage = r.userMessage(text)
		}
		return w, true
	}
	return event.LimitWarning{}, false
}

// textForModel returns the warning for the model; empty for a limit that it is not told of.
func textForModel(w event.LimitWarning) string {
	unit, ok := map[string]string{
		event.LimitSteps: "steps", event.LimitToolCalls: "tool calls", event.LimitTokens: "tokens",
		event.LimitCost: "US dollars", event.LimitDuration: "seconds",
	}[w.Limit]
	digits := 0
	switch {
	case !ok:
		return ""
	case w.Limit == event.LimitToolCalls && w.Used >= w.Max: // unlike other limits, this one leaves an answer
		return fmt.Sprintf("Note from the runtime: all %.0f tool calls of this task are used. Give your answer now, without a tool call.", w.Max)
	case w.Limit == event.LimitCost:
		digits = 4
	}
	return fmt.Sprintf("Note from the runtime: %.*f of %.*f %s of this task are used, and it will be stopped when they run out, so finish what matters most and answer soon.", digits, w.Used, digits, w.Max, unit)
}

// abandon ends a Run whose journal accepts no more records. It tries one last record, for
// which a store keeps some space.
func (r *run) abandon(err error) (Result, error) {
	if r.state.phase != stopped && r.state.phase != notStarted {
		last := event.StopRunByError{Error: event.Failure{Name: storeFailure, Message: validText(err.Error())}}
		if lastErr := r.record(last); lastErr != nil {
			r.parts.Log.Debug("the end of the run could not be recorded", "error", lastErr)
		}
	}
	return r.result(), StoreError(err)
}

// closeSkills stops all running tools and closes the skills. Nothing outlives its Run.
func (r *run) closeSkills() {
	for running := true; running; {
		_, running = r.inFlight.stopNext()
	}
	r.closeToolbox()
	r.publishReports()
	r.reports.close()
	if r.reportErr != nil {
		r.parts.Log.Warn("the last reports of skills were not recorded", "error", r.reportErr)
	}
	r.reportDisconnected()
}

func (r *run) closeToolbox() {
	if r.toolbox == nil {
		return
	}
	if err := r.publishDuring(r.toolbox.Close); err != nil {
		r.parts.Log.Warn("skills did not close cleanly", "error", err)
	}
}

func (r *run) reportDisconnected() {
	for _, name := range r.connected {
		r.publish(event.SkillDisconnected{SkillName: name})
	}
	r.connected = nil
}

func (r *run) result() (result Result) {
	r.recorder.view(func(h *History) { result = h.result(r.state) })
	if result.Status == event.StatusStoppedByLimit {
		result.Limit = r.recordedLimit
	}
	if result.Status == event.StatusStoppedByError {
		result.Err = r.approverErr
	}
	return result
}

// result returns the Result of a job whose coordinator has the state s.
func (h *History) result(s State) Result {
	result := Result{
		JobID: s.JobID, RunID: s.RunID, CheckpointID: s.CheckpointID, TotalSteps: h.Job.TotalSteps,
		Status: s.Status, Failure: s.Failure, Reason: s.StopReason, Usage: s.Usage,
	}
	switch s.Status {
	case event.StatusCompleted:
		result.Text = s.thread.Last().Text()
	case event.StatusStoppedByInteractiveTool:
		result.Pending = s.Pending()
	case event.StatusStoppedByApproval:
		result.Waiting = h.Waiting()
	}
	return result
}
