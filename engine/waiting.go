package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
)

// A WaitingCall is a tool call that waits for the user's permission.
type WaitingCall struct {
	RunID   string
	Experts []string // keys, from the coordinator to the one that calls
	Call    event.ToolCall
	Request event.ApprovalRequested
}

// Expired reports whether the call waits for so long that it counts as denied.
func (w WaitingCall) Expired(now time.Time) bool { return expired(&w.Request, now) }

func expired(a *event.ApprovalRequested, now time.Time) bool { return now.UnixMilli() > a.Expires }

// expiry returns when a question that is asked now counts as denied.
func expiry(s *job.Spec, now time.Time) int64 {
	return now.Add(cmp.Or(s.Approvals.Timeout, job.DefaultApprovalTimeout)).UnixMilli()
}

// Waiting returns the calls that wait for the user's permission where the job would be continued,
// including those of delegates.
func (h *History) Waiting() []WaitingCall {
	p, ok := h.Origin("")
	if !ok {
		return nil
	}
	return h.waitingBelow(p.State, nil)
}

// waitingBelow returns the calls of a Run and its delegates that wait. above are the Experts that
// delegated to it.
func (h *History) waitingBelow(s State, above []string) (all []WaitingCall) {
	if len(above) > len(h.runs) { // a damaged journal can have a cycle
		return nil
	}
	experts := append(slices.Clip(above), s.Expert.Key)
	for _, c := range s.open() {
		switch {
		case c.Result != nil:
		case c.waits():
			all = append(all, WaitingCall{RunID: s.RunID, Experts: experts, Call: c.ToolCall, Request: *c.Approval})
		case c.Child != nil:
			if child := h.runs[c.Child.RunID]; child.DelegatedBy != nil && child.DelegatedBy.ToolCallID == c.ID {
				all = append(all, h.waitingBelow(child, experts)...)
			}
		}
	}
	return all
}

// A grant is a [Grant] and the Expert that has it. Delegates do not get those of their parents.
type grant struct {
	expert string
	Grant
}

func (h *History) grantsOf(expert string) (all []Grant) {
	for _, g := range h.grants {
		if g.expert == expert {
			all = append(all, g.Grant)
		}
	}
	return all
}

// noteAnswer keeps what the user allows for the rest of the job. An answer can come when its Run
// has stopped; then its checkpoint has it as well, which the Run resumes from.
func (h *History) noteAnswer(e event.Event, before, after State) {
	b, ok := e.Body.(event.ApprovalAnswered)
	if i := before.leavingBy(b); ok && i >= 0 {
		h.noteLeave(before.Expert.Key, before.leaving[i], b)
		return
	}
	i := slices.IndexFunc(before.open(), func(c Call) bool { return c.ID == b.ToolCallID })
	if !ok || i < 0 || !before.open()[i].waits() || after.open()[i].waits() {
		return
	}
	call := before.open()[i]
	if b.Allow && b.Scope != "" && b.Scope != event.ScopeOnce && !call.Approval.Once {
		h.grants = append(h.grants, grant{after.Expert.Key, Grant{Skill: call.SkillName, Tool: call.ToolName, Args: call.Args, Digest: b.Digest}})
	}
	if after.phase == stopped {
		h.replacePoint(after)
	}
}

// noteLeave keeps what the user said about leaving the sandbox. A denial holds for the rest of the
// job: a program must not be able to ask until the user gives in.
func (h *History) noteLeave(expert string, asked event.ApprovalRequested, b event.ApprovalAnswered) {
	switch {
	case !b.Allow:
		h.denied = append(h.denied, b)
	case b.Scope != "" && b.Scope != event.ScopeOnce && !asked.Once:
		h.grants = append(h.grants, grant{expert, Grant{Digest: b.Digest, Leaves: true, Path: asked.Effect.Path}})
	}
}

func (h *History) replacePoint(s State) {
	p, ok := h.points[s.CheckpointID]
	if !ok || p.State.RunID != s.RunID {
		return
	}
	p.State = s
	h.points[s.CheckpointID] = p
	if h.head.State.CheckpointID == s.CheckpointID {
		h.head = p
	}
}

// forgetAnswers voids what the journal says that the user allowed. A job that is continued although
// its seal is not valid can record answers that the user never gave.
func (h *History) forgetAnswers() {
	h.grants = nil
	for id, s := range h.runs {
		h.runs[id] = s.withoutAnswers()
	}
	for id, p := range h.points {
		p.State = p.State.withoutAnswers()
		h.points[id] = p
	}
	h.head.State = h.head.State.withoutAnswers()
}

func (s State) withoutAnswers() State {
	s.Step.Calls = changed(s.Step.Calls, func(c *Call) { c.Answer = nil })
	if s.plan == planIsAccepted {
		s.plan = planIsOpen
	}
	s.opened = nil
	return s
}
