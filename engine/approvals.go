package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// Approvals: before a call of a turn starts, all of them are decided. Those that a rule refuses
// get their result at once. Those to ask about are recorded, and then the user is asked. Without an
// answer the Run stops; the answer can come later, from another process. Right before a call starts,
// it is decided again: what was allowed is what is carried out.

// Approvals decides which tool calls are carried out.
type Approvals interface {
	// Decide decides about a call, from what it would do now. It is called from several goroutines.
	Decide(ctx context.Context, request CallRequest) Decision
}

// A CallRequest is a tool call that is decided about.
type CallRequest struct {
	RunID   string
	Experts []string // keys, from the coordinator to the one that calls
	Call    event.ToolCall
	Tool    skill.Tool
	Grants  []Grant // of the user to this Expert, for the rest of the job
	Plan    bool    // the Run only plans
	// Leaves is what the programs of the skill want to use outside of their sandbox; nil if the call
	// itself is decided about. Then the call is the newest one that runs, or has only its skill.
	Leaves *event.Effect
}

// A Grant is a call that the user has allowed for the rest of the job, or something outside of the
// sandbox.
type Grant struct {
	Skill, Tool string
	Args        rawjson.Value
	Digest      string // of the request that was answered
	Leaves      bool   // it is for leaving the sandbox, and for no call
	Path        string // outside of the sandbox, if it is for one
}

// A GrantRequest asks whether an answer that is stored outside of the job covers a call.
type GrantRequest struct {
	Expert      string // key
	Call        event.ToolCall
	Command     []string // of exec: the program and its arguments
	Env         []string // names of the variables that the call sets
	InWorkspace bool     // the program lies in the workspace
	Opaque      bool     // what the call does cannot be seen in its arguments
	Digest      func() string
	Host, Path  string // outside of the sandbox; empty for the call itself
}

// A Decision is what happens to a call.
type Decision struct {
	Do   job.Verdict
	By   string // what decided: a rule, a preset, a grant; empty for what is always allowed
	Why  string // of the rule, for the user and the model
	Once bool   // the answer holds for this call only

	// Effect and Digest say what the user is asked about. A call whose digest has changed is asked
	// about again. Sandbox is what holds its effects.
	Effect  event.Effect
	Digest  string
	Sandbox string
}

const (
	// maxDenials is how many calls of a Run can be refused before it is stopped: it seeks a way
	// around.
	maxDenials = 10
	// maxWaiting is how many calls of a job can wait for the user at the same time.
	maxWaiting = 256
)

// isAllowed reports whether a call can be started.
func (r *run) isAllowed(c Call) bool {
	stage := r.inFlight.stages[c.ID]
	return c.Result == nil && (stage == stageAllowed || stage == stageReady)
}

// approveCalls decides about the calls of the turn that are not decided yet, and then asks the
// user. Its event is nil when there is nothing left to decide before the next call starts.
func (r *run) approveCalls(ctx context.Context) (event.Body, error) {
	calls := r.state.Step.Calls
	for _, c := range calls {
		if c.Result != nil || r.inFlight.stages[c.ID] != stageChecked || !r.isDecided(c) {
			continue
		}
		if body := r.decideCall(ctx, c); body != nil {
			return body, nil
		}
	}
	if r.inFlight.running > 0 {
		return nil, nil
	}
	for _, c := range calls {
		if c.Result == nil && r.inFlight.stages[c.ID] == stageAsked {
			return r.askApproval(ctx, c)
		}
	}
	return nil, nil
}

// decideAgain decides once more about calls that are about to start. Since the first decision the
// user can have taken time to answer, and other calls can have changed files.
func (r *run) decideAgain(ctx context.Context, calls []Call) event.Body {
	for _, c := range calls {
		if r.inFlight.stages[c.ID] != stageAllowed {
			continue
		}
		if c.Answer != nil || r.inFlight.results != nil {
			r.inFlight.stages[c.ID] = stageChecked
			if body := r.decideCall(ctx, c); body != nil {
				return body
			}
		}
		r.inFlight.stages[c.ID] = stageReady
	}
	return nil
}

// isDecided reports whether rules or the user decide about a call. They do not about delegates, whose
// own calls are decided, nor about questions to the user.
func (r *run) isDecided(c Call) bool {
	kind := r.toolKind(c.ToolName)
	return kind == skill.Plain || kind == skill.Proposal
}

// decideCall decides about a call. It returns an event if the call is refused, or has to be asked
// about, or if the answer comes too late.
func (r *run) decideCall(ctx context.Context, c Call) event.Body {
	if r.toolKind(c.ToolName) == skill.Proposal {
		return r.decidePlan(c)
	}
	if r.parts.Approvals == nil {
		r.inFlight.stages[c.ID] = stageAllowed
		return nil
	}
	if c.Answer != nil && !c.Answer.Allow {
		return r.deny(c, "denied by the user", c.Answer.Reason)
	}
	tool, _, _ := r.toolbox.Lookup(c.ToolName)
	request := CallRequest{RunID: r.runID, Experts: r.experts(), Call: c.ToolCall, Tool: tool, Plan: r.state.Planning()}
	r.recorder.view(func(h *History) { request.Grants = h.grantsOf(r.expert.Key) })
	d := r.parts.Approvals.Decide(ctx, request)
	r.inFlight.decisions[c.ID] = d
	switch {
	case d.Do == job.Allow:
		r.inFlight.stages[c.ID] = stageAllowed
		return nil
	case d.Do != job.Ask:
		return r.deny(c, "denied by a rule", d.Why)
	case c.Approval == nil || c.Approval.Digest != d.Digest || c.Started:
		return r.requestApproval(c, d)
	case c.Answer != nil:
		d.By = c.Answer.By
		r.inFlight.decisions[c.ID], r.inFlight.stages[c.ID] = d, stageAllowed
		return nil
	case expired(c.Approval, r.parts.Source.Now()):
		return noAnswer(c.ID, d)
	}
	r.inFlight.stages[c.ID] = stageAsked
	return nil
}

// requestApproval returns the event by which a call waits for the user.
func (r *run) requestApproval(c Call, d Decision) event.Body {
	waiting := 0
	r.recorder.view(func(h *History) { waiting = len(h.Waiting()) })
	if waiting >= maxWaiting && !c.waits() {
		return r.deny(c, "denied by a rule", "too many calls wait for the user already")
	}
	r.inFlight.stages[c.ID] = stageAsked
	return event.ApprovalRequested{ToolCallID: c.ID, Effect: d.Effect, Sandbox: d.Sandbox, Digest: d.Digest, Rule: d.By, Why: d.Why, Once: d.Once, Expires: expiry(r.spec, r.parts.Source.Now())}
}

// noAnswer denies what the user was asked about in vain.
func noAnswer(callID string, d Decision) event.ApprovalAnswered {
	return event.ApprovalAnswered{ToolCallID: callID, Digest: d.Digest, By: event.ByTimeout, Reason: "no answer came in time"}
}

// noOtherWay follows the reason of a denial. It says nothing about rules: a model that knows them
// can look for a call that they do not match.
const noOtherWay = "The call was not carried out. " + noWayAround

const noWayAround = "Do not try to get the same effect in another way; continue without it, or say what is missing."

// deny returns the result of a call that is refused.
func (r *run) deny(c Call, text, why string) event.Body {
	return event.EndToolCall{ToolResult: r.errorResult(c.ToolCall, because(text, why)+".\n"+noOtherWay), Denied: true}
}

func because(text, why string) string {
	if why == "" {
		return text
	}
	return text + ": " + validText(why)
}

// experts returns the keys of the Experts from the coordinator to this one.
func (r *run) experts() []string {
	var keys []string
	for p := r; p != nil; p = p.parent {
		keys = append(keys, p.expert.Key)
	}
	slices.Reverse(keys)
	return keys
}

// askApproval asks the user about a call. Without an answer the Run stops.
func (r *run) askApproval(ctx context.Context, c Call) (event.Body, error) {
	asking, answered := r.exec.inbox.await(ctx, r.runID, c.ID)
	defer answered()
	answer, err := r.askUser(asking, event.Request{Approval: r.state.Step.approval(c, r.experts())})
	r.inFlight.undecide() // time has passed, and the answer can be about several calls
	if s, ok := r.recorder.state(r.runID); ok && !s.waitsFor(c.ID) {
		r.state = s // the answer came from elsewhere
		return r.callTools(ctx)
	}
	switch {
	case errors.Is(err, ErrNoAnswer):
		return event.StopRunByApproval{}, nil
	case err != nil:
		return nil, r.approverFailed("whether "+c.ToolName+" can be called", err)
	}
	return event.ApprovalAnswered{
		ToolCallID: c.ID, Digest: c.Approval.Digest, Allow: answer.Allow, By: event.ByUser, Scope: answer.Scope, Reason: answer.Reason,
	}, nil
}

// approval returns what the user is asked about a call: with what the model wrote beside its calls,
// and which one it is of those that are asked about.
func (s Step) approval(c Call, experts []string) *event.Approval {
	a := &event.Approval{Call: c.ToolCall, Experts: experts, ApprovalRequested: *c.Approval}
	for _, m := range s.Messages {
		if m.Type == event.ExpertMessage {
			a.Said = m.Text()
		}
	}
	for _, other := range s.Calls {
		if other.Approval == nil {
			continue
		}
		if a.Of++; other.ID == c.ID {
			a.Number = a.Of
		}
	}
	return a
}

// undecide has calls that have not started decided again.
func (f *inFlight) undecide() {
	for id, stage := range f.stages {
		if stage < stageStarted {
			f.stages[id] = min(stage, stageChecked)
		}
	}
}

// waitsFor reports whether a call of the current step waits for the user's permission.
func (s State) waitsFor(callID string) bool {
	return slices.ContainsFunc(s.open(), func(c Call) bool { return c.ID == callID && c.waits() })
}

// askUser asks the approver. Only one Run asks at a time, and time that passes meanwhile does not
// count for limits.
func (r *run) askUser(ctx context.Context, request event.Request) (answer event.Answer, err error) {
	if r.parts.Approver == nil {
		return answer, ErrNoAnswer
	}
	request.JobID, request.RunID, request.ExpertKey = r.spec.JobID, r.runID, r.expert.Key
	r.budget.pause(r.parts.Source)
	defer r.budget.resume(r.parts.Source)
	err = r.publishDuring(func() (err error) {
		select {
		case r.exec.asking <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		defer func() { <-r.exec.asking }()
		answer, err = r.parts.Approver.Ask(ctx, request)
		return err
	})
	return answer, err
}

// approverFailed ends the Run because of an error of the approver.
func (r *run) approverFailed(what string, err error) error {
	r.approverErr = err
	return &StopError{Name: ApproverFailure, Err: fmt.Errorf("%s could not be asked: %w", what, err)}
}

// hasWaitingDelegates reports whether a delegate, or one further down, waits for the permission of
// the user.
func (r *run) hasWaitingDelegates() (waits bool) {
	r.recorder.view(func(h *History) { waits = len(h.waitingBelow(h.runs[r.runID], nil)) > 0 })
	return waits
}

// resumesDelegates reports whether delegates that stopped are not taken for failed: they wait for
// the user, or the answer has come meanwhile.
func (r *run) resumesDelegates() bool {
	return slices.ContainsFunc(delegatedCalls(r.state.Step.Calls), func(c Call) bool {
		s, ok := r.delegateState(c)
		return ok && s.Status == event.StatusStoppedByApproval
	})
}
