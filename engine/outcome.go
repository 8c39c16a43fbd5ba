package engine

import (
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
)

// returned is what came of calls that other Experts work on, in call order. What a branch
// does again is left out.
func (r *run) returned(calls []Call, st start) []event.ToolResult {
	var answers []event.ToolResult
	for _, c := range handed(calls) {
		if slices.ContainsFunc(st.children, func(d event.DelegateRun) bool { return d.ToolCallID == c.ID }) {
			continue
		}
		if s, ok := r.child(c); ok && (st.ended || s.isFinal()) {
			answers = append(answers, r.outcome(c, s))
		}
	}
	return answers
}

// child returns the state of the Run that works on a call; false if it has not begun.
func (r *run) child(c Call) (s State, ok bool) {
	r.look(func(h *History) { s, ok = h.runs[c.Child.RunID] })
	return s, ok && r.isOwn(c, s)
}

// isOwn reports whether a Run is what its call says: the conversation of that Expert, about
// that call. A forged journal could else show one Expert the words of another.
func (r *run) isOwn(c Call, s State) bool {
	by := s.DelegatedBy
	return by != nil && by.ToolCallID == c.ID && (by.RunID == r.runID || by.RunID == r.origin) && s.Expert.Name == c.SkillName
}

// isForged reports whether the Run that is named for a call is not its own.
func (r *run) isForged(c Call) (forged bool) {
	r.look(func(h *History) {
		s, known := h.runs[c.Child.RunID]
		switch from := c.Child.From; {
		case known:
			forged = !r.isOwn(c, s)
		case from != nil:
			p, ok := h.points[from.CheckpointID]
			by := p.State.DelegatedBy
			forged = !ok || by == nil || by.ToolCallID != c.ID || p.State.Expert.Name != c.SkillName
		}
	})
	return forged
}

// isFinal reports whether a delegate has ended for good. One that was stopped from outside,
// by a full disk, or by a limit that may be raised, goes on when the job does.
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

// unfinished reports whether there are delegates that could go on.
func (r *run) unfinished() bool {
	return slices.ContainsFunc(handed(r.state.Step.Calls), func(c Call) bool {
		s, ok := r.child(c)
		return !ok || !s.isFinal()
	})
}

// outcome is what the parent gets to know of a delegate: its answer, or why there is none.
func (r *run) outcome(c Call, s State) event.ToolResult {
	call := c.ToolCall
	call.SkillName = event.DelegateSkill + c.Child.Expert.Key
	if s.Status == event.StatusCompleted {
		text := s.Thread.Last().Text()
		if strings.TrimSpace(text) == "" {
			text = "The Expert " + c.Child.Expert.Key + " returned nothing."
		}
		return r.textResult(call, text)
	}
	return r.errorResult(call, "Delegation failed: "+s.whyStopped())
}

// whyStopped says why a delegate has no answer.
func (s State) whyStopped() string {
	switch s.Status {
	case event.StatusStoppedByError:
		switch {
		case s.Failure == nil:
			return "it stopped by an error"
		case s.Failure.Name == SkillFailure:
			// What to do about it is for the user to read, and not for a model to do.
			return "a skill of this Expert cannot be used now"
		}
		return s.Failure.Message
	case event.StatusStoppedByExceededMaxSteps:
		return "no steps are left"
	case event.StatusStoppedByLimit:
		switch s.StopReason {
		case event.LimitDepth:
			return "too many Experts have delegated to one another already; do the work yourself"
		case event.LimitLoop:
			return "it goes in a circle: the same was asked or done before"
		}
		return "the limit on " + s.StopReason + " is reached"
	}
	return "it was stopped: " + s.StopReason
}
