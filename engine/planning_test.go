package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/skills/proposal"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// planReferee denies the tool act while a Run plans.
type planReferee struct{}

func (planReferee) Decide(_ context.Context, q CallRequest) Decision {
	if q.Plan && q.Call.ToolName == "act" {
		return Decision{Do: job.Deny, Why: "it plans"}
	}
	return Decision{Do: job.Allow}
}

const proposes = `proposePlan {"plan":"1. act"}`

// newPlan is a bench whose coordinator tries to act, proposes a plan, and then acts.
func newPlan(t *testing.T, turns ...turn) *bench {
	b := newBench(t, append([]turn{does("act", proposes)}, turns...)...)
	b.plan, b.approvals = true, planReferee{}
	return b
}

// accepts is an approver that accepts every plan.
var accepts = askFunc(func(event.Request) (event.Answer, error) { return event.Answer{Allow: true}, nil })

// conversation returns everything that the model of a Run was told.
func (b *bench) conversation(runID string) string {
	var all []string
	for _, m := range b.load(b.store).runs[runID].Messages() {
		for _, p := range m.Contents {
			all = append(all, p.Text, event.FirstText(p.Contents))
		}
	}
	return strings.Join(all, "\n")
}

func TestPlan(t *testing.T) {
	b := newPlan(t, does("act"), says("done"))
	var asked *event.Approval
	b.approver = askFunc(func(req event.Request) (event.Answer, error) {
		asked = req.Approval
		return event.Answer{Allow: true, Scope: event.ScopeAlways}, nil
	})
	r := b.must(job.Input{Query: "go"})
	if r.Status != event.StatusCompleted || !slices.Equal(b.tools.ran, []string{"c1"}) {
		t.Errorf("ran %v: %+v", b.tools.ran, r)
	}
	if e := asked.Effect; e.Kind != event.PlanEffect || e.Plan != "1. act" || !asked.Once {
		t.Errorf("asked about %+v", asked)
	}
	if want := []bool{true, false}; !slices.Equal(b.planned, want) {
		t.Errorf("skills were started with plan = %v, want %v", b.planned, want)
	}
	told := b.conversation(r.RunID)
	for _, want := range []string{"This job only plans for now", "denied by a rule: it plans", planAcceptedText, "did act"} {
		if strings.Count(told, want) != 1 {
			t.Errorf("the model was told %q, want %q once", told, want)
		}
	}
	if got := b.trace(); !strings.Contains(got, "approvalRequested@1 approvalAnswered@1 planAccepted@1 resolveToolResults@1") {
		t.Errorf("events: %s", got)
	}
	b.checkJournal()
}

// A plan that is refused can be proposed again. It is no way around a rule, so refusals do not stop
// the Run.
func TestPlanRefused(t *testing.T) {
	var turns []turn
	for i := range maxDenials + 1 {
		turns = append(turns, does(fmt.Sprintf(`proposePlan {"plan":"plan %d"}`, i)))
	}
	b := newPlan(t, append(turns, says("done"))...)
	b.approver = judge{"proposePlan": {Reason: "test first"}}
	r := b.must(job.Input{Query: "go"})
	if got := strings.Count(b.conversation(r.RunID), planRefusedText+": test first.\n"+planChangeText); r.Status != event.StatusCompleted || got != maxDenials+2 {
		t.Errorf("%d refusals: %+v", got, r)
	}
	if want := []bool{true}; !slices.Equal(b.planned, want) || !b.load(b.store).runs[r.RunID].Planning() {
		t.Errorf("the job no longer plans; skills were started with %v", b.planned)
	}
}

// Without a user, the job waits. The answer comes from another process, and takes effect once, whenever
// the process dies.
func TestPlanAnsweredLater(t *testing.T) {
	for _, kill := range []event.Type{"", "startRun", "resumeToolCalls", "planAccepted", "endToolCall"} {
		b := newPlan(t, does("act"), says("done"))
		r := b.must(job.Input{Query: "go"})
		if r.Status != event.StatusStoppedByApproval || len(r.Waiting) != 1 {
			t.Fatalf("without a user: %+v", r)
		}
		b.answer(r.Waiting, true)
		b.plan = false // the user does not say it again
		if kill != "" {
			b.killedAfter("writer", kill, job.Input{Continue: true})
		}
		r = b.must(job.Input{Continue: true})
		if r.Status != event.StatusCompleted || !slices.Equal(b.tools.ran, []string{"c1"}) || strings.Count(b.conversation(r.RunID), planAcceptedText) != 1 {
			t.Errorf("killed after %q: %+v; ran %v", kill, r, b.tools.ran)
		}
		accepted := 0
		for _, record := range b.written() {
			if record.Event.Type() == "planAccepted" {
				accepted++
			}
		}
		if accepted != 1 {
			t.Errorf("killed after %q: accepted %d times", kill, accepted)
		}
		b.checkJournal()
	}
}

// Delegates plan as long as the Run that delegates to them, and cannot propose a plan.
func TestPlanOfDelegates(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(`helper {"query":"look"}`), does(proposes), does(`helper {"query":"work"}`), says("done")},
		"helper": {does("act", proposes), says("looked"), does("act"), says("worked")},
	})
	b.plan, b.approvals, b.approver = true, planReferee{}, accepts
	r := b.must(job.Input{Query: "go"})
	if r.Status != event.StatusCompleted || !slices.Equal(b.tools.ran, []string{"c1"}) {
		t.Fatalf("ran %v: %+v", b.tools.ran, r)
	}
	if want := []bool{true, true, false, false}; !slices.Equal(b.planned, want) {
		t.Errorf("skills were started with plan = %v, want %v", b.planned, want)
	}
	if got := b.results()["c2"]; !strings.Contains(got, `there is no tool named "proposePlan"`) {
		t.Errorf("a delegate that proposes a plan got %q", got)
	}
}

// A job that is continued plans where it planned: after a new query, and on a branch from before the
// plan was accepted. After that it works, unless the user asks for a plan again.
func TestPlanContinued(t *testing.T) {
	b := newPlan(t, says("no"), does("act", proposes), does("act"), says("done"))
	b.approver = judge{"proposePlan": {}}
	before := b.must(job.Input{Query: "go"})
	plansNow := func(in job.Input) bool {
		t.Helper()
		b.planned = nil
		b.script.turns = append(b.script.turns, says("ok"))
		in.Continue = true
		b.must(in)
		return b.planned[0]
	}
	b.plan, b.approver, b.planned = false, accepts, nil
	after := b.must(job.Input{Query: "again", Continue: true})
	if want := []bool{true, false}; !slices.Equal(b.planned, want) || !slices.Equal(b.tools.ran, []string{"c1"}) {
		t.Fatalf("planned %v; ran %v", b.planned, b.tools.ran)
	}
	if plansNow(job.Input{Query: "more"}) {
		t.Error("it plans again")
	}
	if !plansNow(job.Input{Query: "more", From: before.CheckpointID}) {
		t.Error("it does not plan on a branch from before")
	}
	if plansNow(job.Input{Query: "more", From: after.CheckpointID}) {
		t.Error("it plans on a branch from after")
	}
	b.plan = true
	if !plansNow(job.Input{Query: "more", From: after.CheckpointID}) {
		t.Error("it does not plan although the user says so")
	}
}

// A journal without a valid seal cannot say that the user accepted a plan.
func TestPlanAcceptedByOthers(t *testing.T) {
	b := newPlan(t, does("wait"), says("done"))
	b.approver = accepts
	r := b.interrupted(job.Input{Query: "go"})
	h := b.load(b.store)
	if h.runs[r.RunID].Planning() {
		t.Fatal("it plans still")
	}
	b.planned = nil
	b.must(job.Input{Continue: true}) // with the same Spec
	if want := []bool{false}; !slices.Equal(b.planned, want) {
		t.Errorf("resumed after the plan was accepted, it plans again: %v", b.planned)
	}
	h.forgetAnswers()
	if p, ok := h.Origin(""); !ok || !p.State.Planning() {
		t.Error("the word of an unsealed journal counts")
	}
	earlier := job.Input{Continue: true, Query: "more", From: h.head.State.CheckpointID}
	trusted := earlier
	trusted.TrustHistory = true
	// What was voided once does not count later, either.
	for _, in := range []job.Input{{Continue: true, Query: "more", TrustHistory: true}, trusted, earlier} {
		b.plan, b.planned, b.approver = false, nil, nil
		b.script.turns = append(b.script.turns, says("ok"))
		if b.must(in); !slices.Equal(b.planned, []bool{true}) {
			t.Errorf("%+v: it does not plan: %v", in, b.planned)
		}
	}
}

// When all Runs were taken back, so was the answer of the user.
func TestPlanTakenBack(t *testing.T) {
	for _, plan := range []bool{false, true} {
		b := newBench(t, says("done"), says("done"), says("done"))
		b.plan = plan
		first := b.must(job.Input{Query: "go"})
		journal, err := b.store.Open(t.Context(), "job")
		if err == nil {
			_, err = journal.Append(t.Context(), event.Event{ID: "taken", JobID: "job", RunID: first.RunID, Body: event.Rewound{}})
		}
		if err = errors.Join(err, journal.Close()); err != nil {
			t.Fatal(err)
		}
		b.plan, b.planned = false, nil
		b.must(job.Input{Continue: true, Query: "again"})
		b.must(job.Input{Continue: true, Query: "and again"})
		if want := []bool{plan, plan}; !slices.Equal(b.planned, want) {
			t.Errorf("after a job with plan = %t, skills were started with %v", plan, b.planned)
		}
	}
}

// In a container, where nothing can be changed, the Run ends when its plan is accepted. In the next one
// it works.
func TestPlanInContainer(t *testing.T) {
	b := newPlan(t, does("act"), says("done"))
	b.approver, b.container = accepts, true
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusStoppedByInterrupt || r.Reason != planEnded || len(b.tools.ran) > 0 {
		t.Fatalf("ran %v: %+v", b.tools.ran, r)
	}
	if r := b.must(job.Input{Continue: true}); r.Status != event.StatusCompleted || len(b.tools.ran) != 1 {
		t.Fatalf("ran %v: %+v", b.tools.ran, r)
	}
	if want := []bool{true, false}; !slices.Equal(b.planned, want) {
		t.Errorf("skills were started with plan = %v, want %v", b.planned, want)
	}
}

// Of two plans of one turn, the first that is accepted counts. A plan has words.
func TestPlansOfOneTurn(t *testing.T) {
	b := newBench(t, does(proposes, `proposePlan {"plan":"2"}`, `proposePlan {"plan":" "}`, `proposePlan {}`), says("done"))
	b.plan = true
	asked := 0
	b.approver = askFunc(func(event.Request) (event.Answer, error) {
		asked++
		return event.Answer{Allow: true}, nil
	})
	b.must(job.Input{Query: "go"})
	results := b.results()
	if asked != 1 || results["c1"] != planAcceptedText || !strings.Contains(results["c2"], "accepted another plan already") {
		t.Errorf("asked %d times: %q", asked, results)
	}
	for _, id := range []string{"c3", "c4"} {
		if !strings.Contains(results[id], "the plan is empty") {
			t.Errorf("%s: %q", id, results[id])
		}
	}
	if got := planText(rawjson.Value(`[`)); got != "" {
		t.Errorf("plan %q", got)
	}
}

// When a plan is accepted, the skills of the plan are closed before others start. These know what the
// model noted, and the model can no longer propose a plan.
func TestSkillsAfterPlan(t *testing.T) {
	b := newPlan(t, does(`todo {"newTodos":["x"]}`), says("done"))
	b.script.turns[0] = does(`todo {"newTodos":["x"]}`, proposes)
	b.approver = accepts
	var got []string
	b.skills = func(ctx context.Context, req SkillRequest) (*skill.Toolbox, error) {
		got = append(got, "open")
		req.Report(event.SkillConnected{SkillName: "s"})
		b.base = &tools{name: event.BaseSkill}
		sources := []skill.Source{{Skill: b.base}, {Skill: &server{name: "s", onStop: func() { got = append(got, "close") }}}}
		if req.Plan {
			sources = append(sources, skill.Source{Skill: proposal.New()})
		}
		return box(sources...)(ctx, req)
	}
	b.script.onRequest = func() {
		names := ""
		for _, tool := range b.script.requests[len(b.script.requests)-1].Tools {
			names += " " + tool.Name
		}
		got = append(got, fmt.Sprintf("todos %s,%s", b.base.todos, names))
	}
	b.must(job.Input{Query: "go"})
	if want := []string{
		"open", "todos , attemptCompletion todo sTool proposePlan", "close", "open",
		`todos {"newTodos":["x"]}, attemptCompletion todo sTool`, `todos {"newTodos":["x"]}, attemptCompletion todo sTool`, "close",
	}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if all := strings.Join(b.skillEvents(), " "); all != "connected:s disconnected:s connected:s disconnected:s" {
		t.Errorf("reported %s", all)
	}
}

// A plan that waits for too long counts as refused.
func TestPlanExpires(t *testing.T) {
	b := newPlan(t, says("done"))
	b.must(job.Input{Query: "go"})
	b.source = FixedSource(b.source.Now().Add(job.DefaultApprovalTimeout + time.Millisecond))
	b.source.(*fixed).ids = 1000
	b.approver = accepts // who is not asked any more
	r := b.must(job.Input{Continue: true})
	if told := b.conversation(r.RunID); r.Status != event.StatusCompleted || !strings.Contains(told, planRefusedText+": no answer came in time") {
		t.Errorf("%+v; the model was told %q", r, told)
	}
	if !b.load(b.store).runs[r.RunID].Planning() {
		t.Error("it no longer plans")
	}
}

// A job whose history the user trusts without a seal plans again, but only until a new plan is
// accepted.
func TestPlanAfterTrust(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(proposes), does("wait"), does(proposes), does(`helper {"query":"work"}`), does("act"), says("done")},
		"helper": {does("act"), says("worked")},
	})
	b.plan, b.approvals, b.approver = true, planReferee{}, accepts
	b.interrupted(job.Input{Query: "go"})
	b.plan, b.planned, b.tools.ran = false, nil, nil
	r := b.must(job.Input{Continue: true, TrustHistory: true})
	if want := []bool{true, false, false}; r.Status != event.StatusCompleted || !slices.Equal(b.planned, want) || !slices.Equal(b.tools.ran, []string{"c1", "c1"}) {
		t.Errorf("%+v; skills were started with plan = %v, want %v; ran %v", r, b.planned, want, b.tools.ran)
	}
}
