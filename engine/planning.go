package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
)

// Planning: all Runs of a job change nothing until the coordinator proposes a plan and the user
// accepts it. Meanwhile programs run with a workspace that they can only read, and without a network.
// With the next step of the coordinator, its skills start again with their usual rights. Delegates
// follow the Run that delegates to them.

// A planStage says whether a Run only plans.
type planStage int

const (
	planNotAsked   planStage = iota // the job works as usual
	planIsOpen                      // it only plans
	planIsAccepted                  // it did, until the user accepted a plan
)

// Planning reports whether the Run only plans.
func (s State) Planning() bool { return s.plan == planIsOpen }

// PlanAccepted reports whether the Run only planned, until the user accepted a plan.
func (s State) PlanAccepted() bool { return s.plan == planIsAccepted }

// onlyPlans reports whether a Run that starts only plans. What the Spec says counts for the first
// start of the coordinator, unless it resumes after a plan was accepted: a new query needs a new plan.
func (r *run) onlyPlans(st start) bool {
	if r.parent != nil {
		s, _ := r.recorder.state(r.parent.runID)
		return s.Planning()
	}
	if r.state.phase == notStarted {
		return st.onlyPlans(r.spec)
	}
	return st.from.State.Planning()
}

// onlyPlans reports whether the first start of the coordinator only plans. A history that the user
// trusts without a seal cannot say that a plan was accepted.
func (st start) onlyPlans(spec *job.Spec) bool {
	var from State
	if st.from != nil {
		from = st.from.State
	}
	if spec.Input.TrustHistory {
		from = from.withoutAnswers()
	}
	return st.plans || from.Planning() || spec.Approvals.Plan && (st.query != "" || from.plan != planIsAccepted)
}

// planEnded is why a Run in a container stops after its plan was accepted. Nothing in the container can
// change the workspace, so the host starts another one.
const planEnded = "the plan was accepted; the job continues in a container that can change files"

// endPlanning starts the skills again, with their usual rights.
func (r *run) endPlanning(ctx context.Context) error {
	r.closeToolbox()
	r.reportDisconnected()
	r.tools = nil
	if err := r.openSkills(ctx, false); err != nil {
		return err
	}
	return r.toolbox.Recall(r.state.Memory)
}

// What a model is told about its plan.
const (
	planAcceptedText = "The user accepted the plan. Carry it out now."
	planRefusedText  = "The user did not accept the plan"
	planChangeText   = "Nothing was carried out. Change the plan and propose it again, or say what is missing."
)

// decidePlan asks the user about a plan. No rule and no earlier answer decides about it.
func (r *run) decidePlan(c Call) event.Body {
	switch d := planDecision(c.ToolCall); {
	case c.isAcceptedPlan() && r.state.Planning():
		return event.PlanAccepted{ToolCallID: c.ID}
	case c.isAcceptedPlan():
		return event.EndToolCall{ToolResult: r.textResult(c.ToolCall, planAcceptedText)}
	case !r.state.Planning():
		return event.EndToolCall{ToolResult: r.errorResult(c.ToolCall, "Error: the user accepted another plan already. Carry that one out.")}
	case c.Answer != nil:
		return event.EndToolCall{ToolResult: r.errorResult(c.ToolCall, because(planRefusedText, c.Answer.Reason)+".\n"+planChangeText)}
	case c.Approval == nil:
		return r.requestApproval(c, d)
	case expired(c.Approval, r.parts.Source.Now()):
		return noAnswer(c.ID, d)
	}
	r.inFlight.stages[c.ID] = stageAsked
	return nil
}

// isAcceptedPlan reports whether the call proposes a plan that the user accepted.
func (c Call) isAcceptedPlan() bool {
	return c.Approval != nil && c.Approval.Effect.Kind == event.PlanEffect && c.Answer != nil && c.Answer.Allow
}

func planText(args rawjson.Value) string {
	var a struct {
		Plan string `json:"plan"`
	}
	if json.Unmarshal(args, &a) != nil {
		return ""
	}
	return a.Plan
}

// planDecision is what the user is asked about a plan.
func planDecision(c event.ToolCall) Decision {
	sum := sha256.Sum256(append([]byte("plan "+c.ID+" "), c.Args...))
	return Decision{
		Do: job.Ask, By: "the job only plans", Once: true, Digest: hex.EncodeToString(sum[:]),
		Effect: event.Effect{Kind: event.PlanEffect, Plan: planText(c.Args)},
	}
}
