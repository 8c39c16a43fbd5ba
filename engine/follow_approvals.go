package engine

import (
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// A Follower with [Parts.Approvals] decides about the calls of the remote engine, from what its own
// journal says about them. The remote engine asks for the decision, and for the answer of the user.
// The answer is recorded here as soon as it is given. That the remote engine then reports it again,
// for its own history, adds nothing. An event that says something else is forged. So is the start of a
// call that was not allowed, and the result of one that has not started.

// CallRequest returns what is decided about a call that the remote engine names.
func (f *Follower) CallRequest(runID, callID string) (CallRequest, error) {
	c, ok := f.openCall(runID, callID)
	if !ok {
		return CallRequest{}, forged("it asks about a call that is not open")
	}
	h := f.recorder.history
	return CallRequest{RunID: runID, Experts: h.experts(runID), Call: c.ToolCall, Grants: h.grantsOf(h.runs[runID].Expert.Key), Plan: h.runs[runID].Planning()}, nil
}

// Decided notes the decision about a call, which the remote engine is told. It holds until the call
// starts, or until the next decision.
func (f *Follower) Decided(request CallRequest, d Decision) {
	f.decided[waitingKey{request.RunID, request.Call.ID}] = d
}

// UserRequest returns what the remote engine wants to ask the user about a call: whether it can be
// carried out, or what the user answers to it.
func (f *Follower) UserRequest(runID, callID string) (event.Request, error) {
	c, ok := f.openCall(runID, callID)
	request := event.Request{JobID: f.spec.JobID, RunID: runID, ExpertKey: f.recorder.history.runs[runID].Expert.Key}
	switch {
	case !ok:
	case c.waits():
		request.Approval = f.recorder.history.runs[runID].Step.approval(c, f.recorder.history.experts(runID))
		return request, nil
	case f.isQuestion(request.ExpertKey, c.ToolCall):
		request.Question = c.ToolCall
		return request, nil
	}
	return event.Request{}, forged("it asks the user about a call that does not wait")
}

// Answer records what the user said about a call, which the remote engine is told. It returns an
// [*AnswerError] if another answer came first or the call was asked about again.
func (f *Follower) Answer(answer RunAnswer) error {
	e, err := f.recorder.history.answerEvent(f.parts.Source, answer.RunID, answer.ApprovalAnswered)
	if err != nil {
		return err
	}
	mode := recordAndPublish
	if !f.Begun() { // a listener gets the start of a Run first
		mode = recordOnly
	}
	if _, err := f.write(e, mode); err != nil {
		return StoreError(err)
	}
	f.answers[waitingKey{answer.RunID, answer.ToolCallID}] = answer.ApprovalAnswered
	return nil
}

// Answered returns the answer to a call that the remote engine asks the user about, if there is one.
func (f *Follower) Answered(runID, callID string) (event.ApprovalAnswered, bool) {
	c, ok := f.openCall(runID, callID)
	if !ok || c.Answer == nil {
		return event.ApprovalAnswered{}, false
	}
	return *c.Answer, true
}

// isRecorded reports whether an event is an answer that was recorded when the user gave it.
func (f *Follower) isRecorded(e event.Event) bool {
	b, ok := e.Body.(event.ApprovalAnswered)
	given, known := f.answers[waitingKey{e.RunID, b.ToolCallID}]
	return ok && known && e.JobID == f.spec.JobID && given.Digest == b.Digest && given.Allow == b.Allow
}

// openCall returns a call of a Run of this execution that has no result yet.
func (f *Follower) openCall(runID, callID string) (Call, bool) {
	calls := f.recorder.history.runs[runID].open()
	i := slices.IndexFunc(calls, func(c Call) bool { return c.ID == callID && c.Result == nil })
	if i < 0 || !f.started[runID] {
		return Call{}, false
	}
	return calls[i], true
}

// isQuestion reports whether an Expert has a tool that the user answers.
func (f *Follower) isQuestion(expertKey string, call event.ToolCall) bool {
	e, ok := f.spec.Lookup(expertKey)
	if !ok {
		return false
	}
	k, ok := e.Skill(call.SkillName)
	return ok && k.Type == expert.InteractiveSkill
}

// experts returns the keys of the Experts from the coordinator to that of a Run.
func (h *History) experts(runID string) []string {
	var keys []string
	for id := runID; id != "" && len(keys) <= len(h.runs); id = h.runs[id].parentID() { // a damaged journal can have a cycle
		keys = append(keys, h.runs[id].Expert.Key)
	}
	slices.Reverse(keys)
	return keys
}

// admitApproval returns an event about an approval as it is recorded: what the host itself has
// decided and asked.
func (f *Follower) admitApproval(e event.Event) (event.Event, error) {
	if f.parts.Approvals == nil {
		return e, nil
	}
	switch b := e.Body.(type) {
	case event.ApprovalRequested:
		d, ok := f.decided[waitingKey{e.RunID, b.ToolCallID}]
		c, open := f.openCall(e.RunID, b.ToolCallID)
		if f.recorder.history.runs[e.RunID].Planning() && e.RunID == f.runID && c.SkillName == event.PlanSkill {
			d, ok = planDecision(c.ToolCall), true
		}
		if !ok || !open || d.Do != job.Ask || d.Digest != b.Digest {
			return e, forged("it asks about a call that need not be asked about")
		}
		e.Body = event.ApprovalRequested{
			ToolCallID: b.ToolCallID, Effect: f.parts.redactEffect(d.Effect), Sandbox: d.Sandbox, Digest: d.Digest, Rule: d.By, Why: d.Why, Once: d.Once,
			Expires: expiry(&f.spec, f.parts.Source.Now()),
		}
	case event.ApprovalAnswered:
		if b.Allow || b.By != event.ByTimeout {
			return e, forged("it reports an answer that the user did not give")
		}
	case event.StartToolCall:
		by, ok := f.allows(e.RunID, b.ToolCallID)
		if !ok {
			return e, forged("it starts a call that was not allowed")
		}
		delete(f.decided, waitingKey{e.RunID, b.ToolCallID})
		b.AllowedBy = by
		e.Body = b
	case event.EndToolCall:
		c, ok := f.openCall(e.RunID, b.ToolResult.ID)
		if ok && !c.Started && !b.ToolResult.IsError && !c.isAcceptedPlan() && !f.isQuestion(f.recorder.history.runs[e.RunID].Expert.Key, c.ToolCall) {
			return e, forged("it reports what a call did that has not started")
		}
	}
	return e, nil
}

// allows reports whether a call can start: the host allowed it, or the user did since the host asked.
func (f *Follower) allows(runID, callID string) (by string, ok bool) {
	d, decided := f.decided[waitingKey{runID, callID}]
	c, open := f.openCall(runID, callID)
	switch {
	case !decided || !open:
		return "", false
	case d.Do == job.Allow:
		return d.By, true
	case d.Do == job.Ask && c.Approval != nil && c.Approval.Digest == d.Digest && c.Answer != nil && c.Answer.Allow:
		return c.Answer.By, true
	}
	return "", false
}
