package engine

import (
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
)

// delegateResults returns the results of calls that delegates worked on, in call order. It
// leaves out calls that a branch runs again.
func (r *run) delegateResults(calls []Call, st start) []event.ToolResult {
	var answers []event.ToolResult
	for _, c := range delegatedCalls(calls) {
		if slices.ContainsFunc(st.children, func(d event.DelegateRun) bool { return d.ToolCallID == c.ID }) {
			continue
		}
		if s, ok := r.delegateState(c); ok && (st.acceptUnfinished || s.isFinal()) {
			answers = append(answers, r.delegateResult(c, s))
		}
	}
	return answers
}

// delegateState returns the state of the Run that works on a call; false if it has not
// started.
func (r *run) delegateState(c Call) (State, bool) {
	s, ok := r.recorder.state(c.Child.RunID)
	return s, ok && r.isOwnDelegate(c, s)
}

// isOwnDelegate reports whether a Run is what its call says: the conversation of that Expert
// about that call. Otherwise a forged journal could show one Expert the words of another.
func (r *run) isOwnDelegate(c Call, s State) bool {
	by := s.DelegatedBy
	return by != nil && by.ToolCallID == c.ID && (by.RunID == r.runID || by.RunID == r.originRun) && s.Expert.Name == c.SkillName
}

// isForged reports whether the journal names a Run for a call that does not belong to it.
func (r *run) isForged(c Call) (forged bool) {
	r.recorder.view(func(h *History) {
		s, known := h.runs[c.Child.RunID]
		switch from := c.Child.From; {
		case known:
			forged = !r.isOwnDelegate(c, s)
		case from != nil:
			p, ok := h.points[from.CheckpointID]
			by := p.State.DelegatedBy
			forged = !ok || by == nil || by.ToolCallID != c.ID || p.State.Expert.Name != c.SkillName
		}
	})
	return forged
}

// isFinal reports whether a delegate cannot resume. One that was stopped from outside, by a
// full disk, or by a limit that can be raised, resumes when the job does.
func (s State) isFinal() bool {
	switch s.Status {
	case event.StatusCompleted:
		return true
	case event.StatusStoppedByError:
		return s.Failure == nil || s.Failure.Name != storeFailure
	case event.StatusStoppedByLimit:
		return s.StopReason == event.LimitDepth || s.StopReason == event.LimitLoop
	}
	return false
}

// hasUnfinishedDelegates reports whether a delegate has not started or can resume.
func (r *run) hasUnfinishedDelegates() bool {
	return slices.ContainsFunc(delegatedCalls(r.state.Step.Calls), func(c Call) bool {
		s, ok := r.delegateState(c)
		return !ok || !s.isFinal()
	})
}

// delegateResult is what the parent is told about a delegate: its answer, or why there is
// none.
func (r *run) delegateResult(c Call, s State) event.ToolResult {
	call := c.ToolCall
	call.SkillName = event.DelegateSkill + c.Child.Expert.Key
	if s.Status == event.StatusCompleted {
		text := s.thread.Last().Text()
		if strings.TrimSpace(text) == "" {
			text = "The Expert " + c.Child.Expert.Key + " returned nothing."
		}
		return r.textResult(call, text)
	}
	return r.errorResult(call, "Delegation failed: "+s.whyStopped())
}

// whyStopped says why a delegate has no answer, in words for the model.
func (s State) whyStopped() string {
	switch s.Status {
	case event.StatusStoppedByError:
		switch {
		case s.Failure == nil:
			return "it was stopped by an error"
		case s.Failure.Name == SkillFailure:
			// The full message has advice for the user, which a model must not act on.
			return "a skill of this Expert cannot be used now"
		}
		return s.Failure.Message
	case event.StatusStoppedByExceededMaxSteps:
		return "no steps are left"
	case event.StatusStoppedByApproval:
		return "it waits for the permission of the user"
	case event.StatusStoppedByLimit:
		switch s.StopReason {
		case event.LimitDenials:
			return "too many of its tool calls were denied"
		case event.LimitDepth:
			return "too many Experts have delegated to one another already; do the work yourself"
		case event.LimitLoop:
			return "it repeats itself: the same was asked or done before"
		case event.LimitToolCalls:
			return "no tool calls are left"
		}
		return "the limit on " + s.StopReason + " is reached"
	}
	return "it was stopped: " + s.StopReason
}
