package engine

import (
	"errors"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/store/memory"
)

// A remote engine can neither accept a plan nor begin or end to plan by itself. It asks about what its
// call proposes, and about nothing else.
func TestFollowerOfPlan(t *testing.T) {
	b := newPlan(t)
	f := newFollower(t, b, memory.New(), job.Input{Query: "go"}, nil)
	f.parts.Approvals = planReferee{}
	if !f.Plans() || f.PlanAccepted() {
		t.Error("it does not plan")
	}
	put := func(body event.Body, forged bool) { t.Helper(); b.puts(f)("run", body, forged) }
	start := b.startOf("run", nil, nil).Body.(event.StartRun)
	put(start, true)
	start.Plan = true
	put(start, false)
	put(event.StartGeneration{}, false)
	call := event.ToolCall{ID: "c1", SkillName: event.PlanSkill, ToolName: "proposePlan", Args: rawjson.Value(`{"plan":"1. act"}`)}
	put(calls(call), false)
	asked := planDecision(call)
	put(event.PlanAccepted{ToolCallID: "c1"}, true)
	put(event.ApprovalRequested{ToolCallID: "c1", Digest: "other"}, true)
	put(event.ApprovalRequested{ToolCallID: "c1", Digest: asked.Digest, Effect: event.Effect{Kind: event.PlanEffect, Plan: "harmless"}}, false)
	if request, err := f.UserRequest("run", "c1"); err != nil || request.Approval.Effect.Plan != "1. act" || !request.Approval.Once {
		t.Errorf("the user is asked %+v, %v", request.Approval, err)
	}
	put(event.PlanAccepted{ToolCallID: "c1"}, true)
	put(event.ApprovalAnswered{ToolCallID: "c1", Digest: asked.Digest, Allow: true, By: event.ByUser}, true)
	if err := f.Answer(RunAnswer{"run", event.ApprovalAnswered{ToolCallID: "c1", Digest: asked.Digest, Allow: true, By: event.ByUser}}); err != nil {
		t.Fatal(err)
	}
	put(event.PlanAccepted{ToolCallID: "other"}, true)
	put(event.PlanAccepted{ToolCallID: "c1"}, false)
	put(event.PlanAccepted{ToolCallID: "c1"}, true)
	if !f.PlanAccepted() {
		t.Error("the plan was not accepted")
	}
	put(event.EndToolCall{ToolResult: event.ToolResult{ID: "c1", ToolName: "proposePlan", SkillName: event.PlanSkill}}, false) // which never starts
}

// A remote engine that goes back to a checkpoint from before the Run planned does not end that.
func TestFollowerGoesBack(t *testing.T) {
	b := newBench(t, does("wait"), says("done"))
	r := b.interrupted(job.Input{Query: "go"})
	b.plan = true
	spec := b.spec(job.Input{Continue: true})
	f, err := Follow(t.Context(), spec, Parts{Store: b.store, Source: b.source, Lean: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	put := func(body event.Body) error {
		_, err := f.Append(event.Event{ID: b.source.NewID(), JobID: "job", RunID: r.RunID, ExpertKey: b.expert.Key, StepNumber: 3, Body: body})
		return err
	}
	before := &event.Origin{RunID: r.RunID, CheckpointID: r.CheckpointID}
	start := b.startOf(r.RunID, nil, before).Body.(event.StartRun)
	start.Plan, start.Spec = true, f.specText
	for _, body := range []event.Body{start, event.StopRunByDelegate{}} {
		if err := put(body); err != nil {
			t.Fatal(err)
		}
	}
	start.Plan, start.Spec, start.CheckpointID = false, nil, "another"
	if err := put(start); !errors.Is(err, ErrForged) || !f.recorder.history.runs[r.RunID].Planning() {
		t.Errorf("it no longer plans: %v", err)
	}
}

// puts returns a function that reports an event of a Run to a Follower, and says whether it must be
// refused.
func (b *bench) puts(f *Follower) func(runID string, body event.Body, forged bool) {
	return func(runID string, body event.Body, forged bool) {
		b.t.Helper()
		e := event.Event{ID: b.source.NewID(), JobID: "job", RunID: runID, ExpertKey: b.expert.Key, StepNumber: 1, Body: body}
		if _, err := f.Append(e); errors.Is(err, ErrForged) != forged || err != nil && !forged {
			b.t.Errorf("%s of %s: %v", e.Type(), runID, err)
		}
	}
}

// calls returns the event by which a model makes calls.
func calls(all ...event.ToolCall) event.CallTools {
	m := &event.Message{ID: "m1", Type: event.ExpertMessage}
	for _, c := range all {
		m.Contents = append(m.Contents, event.Part{ID: "p-" + c.ID, Type: event.ToolCallPart, ToolCallID: c.ID, ToolName: c.ToolName, Args: c.Args})
	}
	return event.CallTools{NewMessage: m, ToolCalls: all}
}

// A delegate of a remote engine plans as the Run does that delegates to it, and proposes no plan.
func TestFollowerOfPlanningDelegate(t *testing.T) {
	for _, plan := range []bool{true, false} {
		b := newBench(t)
		b.plan = plan
		f := newFollower(t, b, memory.New(), job.Input{Query: "go"}, nil)
		f.parts.Approvals = planReferee{}
		put := b.puts(f)
		for _, runID := range []string{"run", "child"} {
			var by *event.Parent
			if runID == "child" {
				by = &event.Parent{RunID: "run", ToolCallID: "c1"}
				f.expected[runID] = b.expert.Key // as a call of the Run would
			}
			start := b.startOf(runID, by, nil).Body.(event.StartRun)
			start.Plan = !plan
			put(runID, start, true)
			start.Plan = plan
			put(runID, start, false)
		}
		call := event.ToolCall{ID: "c1", SkillName: event.PlanSkill, ToolName: "proposePlan", Args: rawjson.Value(`{"plan":"x"}`)}
		for _, runID := range []string{"child", "run"} { // only the coordinator proposes, and only while it plans
			put(runID, event.StartGeneration{}, false)
			put(runID, calls(call), false)
			put(runID, event.ApprovalRequested{ToolCallID: "c1", Digest: planDecision(call).Digest}, runID == "child" || !plan)
		}
	}
}

// Only a plan is asked about without a decision of the host. That the user allowed a call accepts no
// plan, and is no reason to believe what the call did before it starts.
func TestFollowerTellsPlansFromCalls(t *testing.T) {
	b := newBench(t)
	b.plan = true
	f := newFollower(t, b, memory.New(), job.Input{Query: "go"}, nil)
	f.parts.Approvals = planReferee{}
	put := func(body event.Body, forged bool) { t.Helper(); b.puts(f)("run", body, forged) }
	start := b.startOf("run", nil, nil).Body.(event.StartRun)
	start.Plan = true
	put(start, false)
	put(event.StartGeneration{}, false)
	call := event.ToolCall{ID: "c1", SkillName: "tools", ToolName: "look", Args: rawjson.Value(`{}`)}
	put(calls(call), false)
	put(event.ApprovalRequested{ToolCallID: "c1", Digest: planDecision(call).Digest}, true)
	request, err := f.CallRequest("run", "c1")
	if err != nil || !request.Plan {
		t.Fatalf("%+v, %v", request, err)
	}
	f.Decided(request, Decision{Do: job.Ask, Digest: "d"})
	put(event.ApprovalRequested{ToolCallID: "c1", Digest: "d"}, false)
	answer := event.ApprovalAnswered{ToolCallID: "c1", Digest: "d", Allow: true, By: event.ByUser}
	if err := f.Answer(RunAnswer{"run", answer}); err != nil {
		t.Fatal(err)
	}
	put(answer, false) // the remote engine repeats it
	refused, other := answer, answer
	refused.Allow, other.Digest = false, "other"
	put(refused, true)
	put(other, true)
	elsewhere := event.Event{ID: b.source.NewID(), JobID: "another", RunID: "run", ExpertKey: b.expert.Key, StepNumber: 1, Body: answer}
	if _, err := f.Append(elsewhere); !errors.Is(err, ErrForged) {
		t.Errorf("an answer of another job: %v", err)
	}
	put(event.PlanAccepted{ToolCallID: "c1"}, true)
	result := event.EndToolCall{ToolResult: event.ToolResult{ID: "c1", ToolName: "look", SkillName: "tools"}}
	put(result, true)
	put(event.StartToolCall{ToolCallID: "c1"}, false)
	put(result, false)
	if got := f.recorder.history.runs["run"].Step.Calls[0].Answer; got == nil || !got.Allow {
		t.Errorf("recorded %+v", got)
	}
}

// An answer is to one plan of one call.
func TestPlanDigest(t *testing.T) {
	seen := make(map[string]string)
	for _, id := range []string{"c1", "c2"} {
		for _, args := range []string{`{"plan":"1"}`, `{"plan":"2"}`} {
			digest := planDecision(event.ToolCall{ID: id, Args: rawjson.Value(args)}).Digest
			if other, ok := seen[digest]; ok {
				t.Errorf("%s %s has the digest of %s", id, args, other)
			}
			seen[digest] = id + " " + args
		}
	}
}

// The answer of the user to a question is the result of a call that never starts.
func TestFollowerOfQuestion(t *testing.T) {
	b := newBench(t)
	b.expert.Skills = append(b.expert.Skills, &expert.Skill{Name: "user", Type: expert.InteractiveSkill})
	f := newFollower(t, b, memory.New(), job.Input{Query: "go"}, nil)
	f.parts.Approvals = planReferee{}
	put := b.puts(f)
	put("run", b.startOf("run", nil, nil).Body, false)
	put("run", event.StartGeneration{}, false)
	put("run", calls(event.ToolCall{ID: "c1", SkillName: "user", ToolName: "ask"}, event.ToolCall{ID: "c2", SkillName: "tools", ToolName: "act"}), false)
	for id, forged := range map[string]bool{"c1": false, "c2": true} {
		put("run", event.EndToolCall{ToolResult: event.ToolResult{ID: id}}, forged)
	}
	put("run", event.EndToolCall{ToolResult: event.ToolResult{ID: "c2", IsError: true}}, false) // it was refused
}
