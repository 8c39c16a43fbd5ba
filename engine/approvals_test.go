package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// A referee decides by the name of the tool, and asks for all that a grant does not cover. The
// files that a call is about are one text.
type referee struct {
	mu    sync.Mutex
	do    map[string]job.Verdict // by tool; else allowed
	files string
	asked []CallRequest
	// onDecide is called before each decision.
	onDecide func(CallRequest)
}

func (f *referee) Decide(_ context.Context, q CallRequest) Decision {
	if f.onDecide != nil {
		f.onDecide(q)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, q)
	d := Decision{Do: job.Allow, By: "the preset", Why: "it is " + q.Call.ToolName, Digest: q.Call.ToolName + string(q.Call.Args) + f.files}
	if do, ok := f.do[q.Call.ToolName]; ok {
		d.Do, d.By = do, "a rule"
	}
	if d.Do == job.Ask && slices.ContainsFunc(q.Grants, func(g Grant) bool { return g.Tool == q.Call.ToolName && string(g.Args) == string(q.Call.Args) }) {
		d.Do, d.By = job.Allow, "a grant"
	}
	return d
}

func (f *referee) write(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files = text
}

// A judge answers approvals by the name of the tool.
type judge map[string]event.Answer

func (j judge) Ask(_ context.Context, req event.Request) (event.Answer, error) {
	answer, ok := j[req.Approval.Call.ToolName]
	if !ok {
		return answer, ErrNoAnswer
	}
	return answer, nil
}

var asksAct = map[string]job.Verdict{"act": job.Ask}

// starts returns the calls that were started, in order, with what allowed them.
func (b *bench) starts() (all []string) {
	for _, r := range b.written() {
		if s, ok := r.Event.Body.(event.StartToolCall); ok {
			all = append(all, s.ToolCallID+": "+s.AllowedBy)
		}
	}
	return all
}

// results returns the newest result of each call.
func (b *bench) results() map[string]string {
	all := make(map[string]string)
	for _, r := range b.written() {
		if end, ok := r.Event.Body.(event.EndToolCall); ok {
			all[end.ToolResult.ID] = event.FirstText(end.ToolResult.Result)
		}
	}
	return all
}

// answer answers the calls that wait, as another process does.
func (b *bench) answer(waiting []WaitingCall, allow bool) {
	b.t.Helper()
	var all []RunAnswer
	for _, w := range waiting {
		all = append(all, RunAnswer{w.RunID, event.ApprovalAnswered{
			ToolCallID: w.Call.ID, Digest: w.Request.Digest, Allow: allow, By: event.ByUser, Reason: "because",
		}})
	}
	if err := RecordAnswers(b.t.Context(), b.store, b.source, "job", all); err != nil {
		b.t.Fatal(err)
	}
}

func TestApprovals(t *testing.T) {
	for _, tt := range []struct {
		name   string
		do     map[string]job.Verdict
		judge  judge
		status event.Status
		starts []string
		result string // of the call act
	}{
		{name: "allowed", status: event.StatusCompleted, starts: []string{"c1: the preset", "c2: the preset"}, result: "did act"},
		{name: "denied by a rule", do: map[string]job.Verdict{"act": job.Deny}, status: event.StatusCompleted, starts: []string{"c2: the preset"},
			result: "denied by a rule: it is act.\n" + noOtherWay},
		{name: "a verdict that is none", do: map[string]job.Verdict{"act": ""}, status: event.StatusCompleted, starts: []string{"c2: the preset"},
			result: "denied by a rule: it is act.\n" + noOtherWay},
		{name: "no approver", do: asksAct, status: event.StatusStoppedByApproval},
		{name: "no answer yet", do: asksAct, judge: judge{}, status: event.StatusStoppedByApproval},
		{name: "the user allows", do: asksAct, judge: judge{"act": {Allow: true}}, status: event.StatusCompleted,
			starts: []string{"c1: user", "c2: the preset"}, result: "did act"},
		{name: "the user denies", do: asksAct, judge: judge{"act": {Reason: "use staging"}}, status: event.StatusCompleted, starts: []string{"c2: the preset"},
			result: "denied by the user: use staging.\n" + noOtherWay},
		{name: "the user denies without a word", do: asksAct, judge: judge{"act": {}}, status: event.StatusCompleted, starts: []string{"c2: the preset"},
			result: "denied by the user.\n" + noOtherWay},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, does(`act {"n":1}`, "read"), says("done"))
			b.approvals = &referee{do: tt.do}
			if tt.judge != nil {
				b.approver = tt.judge
			}
			r := b.must(job.Input{Query: "go"})
			if r.Status != tt.status {
				t.Fatalf("the job was left as %+v", r)
			}
			if got := b.starts(); !slices.Equal(got, tt.starts) {
				t.Errorf("started %q, want %q", got, tt.starts)
			}
			if got := b.results()["c1"]; got != tt.result {
				t.Errorf("result %q, want %q", got, tt.result)
			}
			if waits := tt.status == event.StatusStoppedByApproval; waits != (len(r.Waiting) == 1) {
				t.Errorf("waiting: %+v", r.Waiting)
			}
			b.checkJournal()
		})
	}
}

// A request names the call in full output, and what it was asked about.
func TestApprovalEvents(t *testing.T) {
	for _, lean := range []bool{false, true} {
		b := newBench(t, does(`act {"n":1}`), says("done"))
		b.lean, b.approvals = lean, &referee{do: asksAct}
		r := b.must(job.Input{Query: "go"})
		req := last[event.ApprovalRequested](b)
		if req.ToolCall == nil || string(req.ToolCall.Args) != `{"n":1}` || req.Rule != "a rule" || req.Why != "it is act" {
			t.Errorf("request %+v", req)
		}
		if end := last[event.StopRunByApproval](b); (end.Checkpoint == nil) != lean {
			t.Errorf("end %+v", end)
		}
		for _, record := range b.written() {
			if req, ok := record.Event.Body.(event.ApprovalRequested); ok && req.ToolCall != nil {
				t.Error("the journal repeats the call")
			}
		}
		if w := r.Waiting[0]; w.Call.ID != "c1" || w.RunID != r.RunID || !slices.Equal(w.Experts, []string{"writer"}) {
			t.Errorf("waiting: %+v", w)
		}
	}
}

// The answer comes from another process. The call then runs once, however often the process dies.
func TestAnswerLater(t *testing.T) {
	for _, kill := range []event.Type{"", "startRun", "resumeToolCalls"} {
		b := newBench(t, does("read", `act {"n":1}`), says("done"))
		b.approvals = &referee{do: asksAct}
		r := b.must(job.Input{Query: "go"})
		again := b.must(job.Input{Continue: true}) // without an answer it waits again, and asks nothing new
		if again.Status != event.StatusStoppedByApproval || again.RunID != r.RunID || len(b.tools.ran) != 0 {
			t.Fatalf("resumed without an answer: %+v; ran %v", again, b.tools.ran)
		}
		if strings.Contains(b.trace(), "approvalRequested") {
			t.Errorf("it was asked again: %s", b.trace())
		}
		b.answer(again.Waiting, true)
		if kill != "" {
			b.killedAfter("writer", kill, job.Input{Continue: true})
		}
		if r = b.must(job.Input{Continue: true}); r.Status != event.StatusCompleted || r.RunID != again.RunID {
			t.Fatalf("after the answer: %+v", r)
		}
		slices.Sort(b.tools.ran)
		if want := []string{"c1", "c2"}; !slices.Equal(b.tools.ran, want) {
			t.Errorf("killed after %q: ran %v", kill, b.tools.ran)
		}
		b.checkJournal()
	}
}

func TestAnswersThatDoNotCount(t *testing.T) {
	b := newBench(t, does(`act {"n":1}`), says("done"))
	b.approvals = &referee{do: asksAct}
	w := b.must(job.Input{Query: "go"}).Waiting[0]
	count := func(runID, callID, digest string) error {
		return RecordAnswers(t.Context(), b.store, b.source, "job", []RunAnswer{{runID, event.ApprovalAnswered{ToolCallID: callID, Digest: digest, Allow: true}}})
	}
	for _, wrong := range [][3]string{{"other", "c1", w.Request.Digest}, {w.RunID, "c2", w.Request.Digest}, {w.RunID, "c1", "other"}} {
		if err := count(wrong[0], wrong[1], wrong[2]); !errors.As(err, new(*AnswerError)) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	if err := count(w.RunID, "c1", w.Request.Digest); err != nil {
		t.Fatal(err)
	}
	if err := count(w.RunID, "c1", w.Request.Digest); !errors.As(err, new(*AnswerError)) {
		t.Errorf("a second answer: %v", err)
	}
	// A journal that has such answers anyway is not impressed.
	s := b.load(b.store).runs[w.RunID]
	after := s.apply(event.Event{RunID: w.RunID, Body: event.ApprovalAnswered{ToolCallID: "c1", Digest: w.Request.Digest, Reason: "no"}})
	if !after.Step.Calls[0].Answer.Allow {
		t.Error("a second answer counts")
	}
}

// What was allowed is what is carried out: if it changes after the answer, the user is asked again.
func TestChangedAfterApproval(t *testing.T) {
	b := newBench(t, does(`act {"n":1}`), says("done"))
	files := &referee{do: asksAct, files: "one"}
	b.approvals = files
	b.answer(b.must(job.Input{Query: "go"}).Waiting, true)
	files.write("two")
	r := b.must(job.Input{Continue: true})
	if r.Status != event.StatusStoppedByApproval || len(b.tools.ran) != 0 || !strings.HasSuffix(r.Waiting[0].Request.Digest, "two") {
		t.Fatalf("after the change: %+v; ran %v", r, b.tools.ran)
	}
	b.answer(r.Waiting, true)
	if r = b.must(job.Input{Continue: true}); r.Status != event.StatusCompleted || len(b.tools.ran) != 1 {
		t.Errorf("after the second answer: %+v; ran %v", r, b.tools.ran)
	}
}

// The same while the job runs: the user edits the file while the question is on the screen, or
// another call of the turn changes it before the allowed one starts.
func TestChangedWhileAsked(t *testing.T) {
	b := newBench(t, does("sleep", `act {"n":1}`), says("done"))
	b.parallel = 1
	files := &referee{do: asksAct, files: "one"}
	b.approvals = files
	asked := 0
	b.approver = askFunc(func(event.Request) (event.Answer, error) {
		if asked++; asked == 1 {
			files.write("two")
		}
		return event.Answer{Allow: true}, nil
	})
	b.tools.onSleep = func() { files.write("three") }
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusCompleted || asked != 3 || !slices.Equal(b.tools.ran, []string{"c1", "c2"}) {
		t.Errorf("asked %d times; ran %v; %+v", asked, b.tools.ran, r)
	}
}

// askFunc is an approver made of a function.
type askFunc func(event.Request) (event.Answer, error)

func (f askFunc) Ask(_ context.Context, req event.Request) (event.Answer, error) { return f(req) }

// A request has what the model wrote beside its calls, and its place among the others.
func TestApprovalContext(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(`act {"n":1}`, `look`, `act {"n":2}`).with(func(a *model.Answer) { a.Parts = said("I act twice.", a.Parts...) }), does(`act {"n":3}`), says("done")},
	})
	b.approvals = &referee{do: asksAct}
	var asked []string
	b.approver = askFunc(func(req event.Request) (event.Answer, error) {
		asked = append(asked, fmt.Sprintf("%q %d of %d", req.Approval.Said, req.Approval.Number, req.Approval.Of))
		return event.Answer{Allow: true}, nil
	})
	b.must(job.Input{Query: "go"})
	if want := []string{`"I act twice." 1 of 2`, `"I act twice." 2 of 2`, `"" 1 of 1`}; !slices.Equal(asked, want) {
		t.Errorf("%q, want %q", asked, want)
	}
}

// An answer for the job covers equal calls of the same Expert, also those of the same turn.
func TestGrantForJob(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(slices.Repeat([]string{`act {"n":1}`}, 20)...), does(`act {"n":1}`), does(`act {"n":2}`), does(`helper {"query":"x"}`), says("done")},
		"helper": {does(`act {"n":1}`), says("ok")},
	})
	b.approvals = &referee{do: asksAct}
	var asked []string
	b.approver = askFunc(func(req event.Request) (event.Answer, error) {
		asked = append(asked, strings.Join(req.Approval.Experts, ">")+" "+string(req.Approval.Call.Args))
		return event.Answer{Allow: true, Scope: event.ScopeJob}, nil
	})
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusCompleted || len(b.tools.ran) != 23 {
		t.Fatalf("%+v; %d calls ran", r, len(b.tools.ran))
	}
	if want := []string{`writer {"n":1}`, `writer {"n":2}`, `writer>helper {"n":1}`}; !slices.Equal(asked, want) {
		t.Errorf("asked about %q, want %q", asked, want)
	}
}

// A call that a rule asks about each time has no use for a grant, and one of another journal is void.
func TestGrantsThatDoNotCount(t *testing.T) {
	call := Call{ToolCall: event.ToolCall{ID: "c1", ToolName: "act"}, Approval: &event.ApprovalRequested{}}
	before := State{RunID: "r"}
	for _, tt := range []struct {
		once   bool
		answer event.ApprovalAnswered
		grants int
	}{
		{answer: event.ApprovalAnswered{Allow: true, Scope: event.ScopeJob}, grants: 1},
		{answer: event.ApprovalAnswered{Allow: true, Scope: event.ScopeAlways}, grants: 1},
		{answer: event.ApprovalAnswered{Allow: true, Scope: event.ScopeOnce}},
		{answer: event.ApprovalAnswered{Allow: true}},
		{answer: event.ApprovalAnswered{Scope: event.ScopeJob}},
		{answer: event.ApprovalAnswered{Allow: true, Scope: event.ScopeJob, Digest: "other"}},
		{answer: event.ApprovalAnswered{Allow: true, Scope: event.ScopeJob}, once: true},
	} {
		call.Approval = &event.ApprovalRequested{Once: tt.once}
		before.Step.Calls = []Call{call}
		tt.answer.ToolCallID = "c1"
		e := event.Event{RunID: "r", Body: tt.answer}
		h := NewHistory()
		h.noteAnswer(e, before, before.apply(e))
		if len(h.grants) != tt.grants {
			t.Errorf("%+v: grants %+v", tt.answer, h.grants)
		}
		h.forgetAnswers()
		if len(h.grants) != 0 {
			t.Error("grants of a journal without a seal count")
		}
	}
}

// A delegate that waits does not keep others from their work. Then its parents stop, too, and all
// resume together.
func TestDelegateWaits(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(`middle {"query":"x"}`, `other {"query":"y"}`), says("done")},
		"middle": {does(`helper {"query":"z"}`), says("middle is done")},
		"helper": {does(`act {"n":1}`), says("helper is done")},
		"other":  {does("read"), says("other is done")},
	})
	b.approvals = &referee{do: asksAct}
	r := b.must(job.Input{Query: "go"})
	if r.Status != event.StatusStoppedByApproval || !slices.Equal(b.tools.ran, []string{"c1"}) {
		t.Fatalf("%+v; ran %v", r, b.tools.ran)
	}
	if w := r.Waiting; len(w) != 1 || !slices.Equal(w[0].Experts, []string{"writer", "middle", "helper"}) {
		t.Fatalf("waiting: %+v", r.Waiting)
	}
	if again := b.must(job.Input{Continue: true}); again.Status != event.StatusStoppedByApproval || len(again.Waiting) != 1 {
		t.Fatalf("resumed without an answer: %+v", again)
	}
	b.answer(r.Waiting, true)
	if r = b.must(job.Input{Continue: true}); r.Status != event.StatusCompleted || len(b.tools.ran) != 2 {
		t.Errorf("%+v; ran %v", r, b.tools.ran)
	}
	b.checkJournal()
}

// An answer that comes while another Expert still works is used in the same execution.
func TestAnswerWhileOthersWork(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(`helper {"query":"x"}`, `other {"query":"y"}`), says("done")},
		"helper": {does(`act {"n":1}`), says("ok")},
		"other":  {does("sleep"), says("ok")},
	})
	b.approvals, b.inbox = &referee{do: asksAct}, &Inbox{}
	b.tools.onSleep = func() { // by then the helper has stopped: one Run works at a time
		for i, r := range b.written() {
			if req, ok := r.Event.Body.(event.ApprovalRequested); ok {
				answer := RunAnswer{r.Event.RunID, event.ApprovalAnswered{ToolCallID: req.ToolCallID, Digest: req.Digest, Allow: true, By: event.ByUser}}
				if err := b.inbox.Answer(answer); err != nil {
					t.Errorf("record %d: %v", i, err)
				}
			}
		}
	}
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusCompleted || len(b.tools.ran) != 2 {
		t.Errorf("%+v; ran %v", r, b.tools.ran)
	}
	if wrong, ok := errors.AsType[*AnswerError](b.inbox.Answer(RunAnswer{})); !ok || !wrong.Stopping {
		t.Errorf("an answer to a job that has ended: %v", wrong)
	}
	b.checkJournal()
}

// Of 16 answers from elsewhere one wins, and the approver is released.
func TestAnswersRace(t *testing.T) {
	b := newBench(t, does(`act {"n":1}`), says("done"))
	b.approvals, b.inbox = &referee{do: asksAct}, &Inbox{}
	var won []int
	b.approver = contextFunc(func(ctx context.Context, req event.Request) (event.Answer, error) {
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				err := b.inbox.Answer(RunAnswer{req.RunID, event.ApprovalAnswered{
					ToolCallID: "c1", Digest: req.Approval.Digest, Allow: true, By: fmt.Sprint(i),
				}})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won = append(won, i)
				} else if !errors.As(err, new(*AnswerError)) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		<-ctx.Done()
		return event.Answer{}, context.Cause(ctx)
	})
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusCompleted || len(won) != 1 || len(b.tools.ran) != 1 {
		t.Fatalf("%d answers won; ran %v; %+v", len(won), b.tools.ran, r)
	}
	if want := fmt.Sprintf("c1: %d", won[0]); b.starts()[0] != want {
		t.Errorf("started by %q, want %q", b.starts()[0], want)
	}
}

type contextFunc func(context.Context, event.Request) (event.Answer, error)

func (f contextFunc) Ask(ctx context.Context, req event.Request) (event.Answer, error) {
	return f(ctx, req)
}

// A Run that is refused again and again is stopped. A delegate's refusals are its own.
func TestDenialsStopARun(t *testing.T) {
	calls := slices.Repeat([]string{"act"}, maxDenials-1)
	b := newBench(t, does(calls...), does("read"), does("act"), says("done"))
	b.approvals = &referee{do: map[string]job.Verdict{"act": job.Deny}}
	r := b.must(job.Input{Query: "go"})
	if r.Status != event.StatusStoppedByLimit || r.Reason != event.LimitDenials || r.Limit.Used != maxDenials {
		t.Fatalf("%+v", r)
	}
	if r = b.must(job.Input{Continue: true}); r.Status != event.StatusCompleted { // the user knows, and resumes
		t.Errorf("resumed: %+v", r)
	}
}

// A call that waits for too long counts as denied.
func TestApprovalExpires(t *testing.T) {
	b := newBench(t, does(`act {"n":1}`), says("done"))
	b.approvals = &referee{do: asksAct}
	r := b.must(job.Input{Query: "go"})
	b.source = FixedSource(b.source.Now().Add(job.DefaultApprovalTimeout + time.Millisecond))
	b.source.(*fixed).ids = 1000
	err := RecordAnswers(t.Context(), b.store, b.source, "job", []RunAnswer{{r.RunID, event.ApprovalAnswered{ToolCallID: "c1", Digest: r.Waiting[0].Request.Digest, Allow: true}}})
	if !errors.As(err, new(*AnswerError)) {
		t.Errorf("an answer that comes too late: %v", err)
	}
	r = b.must(job.Input{Continue: true})
	if want := "denied by the user: no answer came in time.\n" + noOtherWay; r.Status != event.StatusCompleted || b.results()["c1"] != want {
		t.Errorf("%+v; %q", r, b.results()["c1"])
	}
	if len(b.tools.ran) != 0 {
		t.Errorf("ran %v", b.tools.ran)
	}
}

// A job whose seal is not valid can record answers that the user never gave, also to delegates.
func TestTrustedHistoryHasNoAnswers(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(`act {"n":1}`), does(`helper {"query":"x"}`), says("done")},
		"helper": {does(`act {"n":1}`), says("ok")},
	})
	b.approvals = &referee{do: asksAct}
	for _, ran := range []int{0, 1} { // by the coordinator, then by the delegate
		in := job.Input{Query: "go"}
		if ran > 0 {
			in = job.Input{Continue: true}
		}
		r := b.must(in)
		b.answer(r.Waiting, true)
		r = b.must(job.Input{Continue: true, TrustHistory: true})
		if r.Status != event.StatusStoppedByApproval || len(r.Waiting) != 1 || len(b.tools.ran) != ran {
			t.Fatalf("%+v; ran %v", r, b.tools.ran)
		}
		b.answer(r.Waiting, true)
	}
	if r := b.must(job.Input{Continue: true}); r.Status != event.StatusCompleted || len(b.tools.ran) != 2 {
		t.Errorf("%+v; ran %v", r, b.tools.ran)
	}
}

func TestTooManyWait(t *testing.T) {
	b := newBench(t, does(slices.Repeat([]string{"act"}, maxWaiting+1)...), says("done"))
	b.approvals = &referee{do: asksAct}
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusStoppedByApproval || len(r.Waiting) != maxWaiting {
		t.Errorf("%s: %d wait", r.Status, len(r.Waiting))
	}
	if got := b.results(); len(got) != 1 || !strings.HasPrefix(got[fmt.Sprintf("c%d", maxWaiting+1)], "denied by a rule: too many") {
		t.Errorf("results %q", got)
	}
}

// Waiting for the user is not work: no limit on time counts it.
func TestWaitingIsNotDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, does("sleep"), does(`act {"n":1}`), does("sleep"), says("done"))
		b.source = SystemSource()
		b.limits.MaxDuration, b.expert.MaxDuration = time.Hour, time.Hour
		b.tools.onSleep = func() { time.Sleep(20 * time.Minute) }
		b.approvals = &referee{do: asksAct}
		b.approver = askFunc(func(event.Request) (event.Answer, error) {
			time.Sleep(24 * time.Hour)
			return event.Answer{Allow: true}, nil
		})
		if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusCompleted {
			t.Errorf("%+v", r)
		}
		if strings.Contains(b.trace(), "limitWarning") {
			t.Errorf("the user's time was counted: %s", b.trace())
		}
		b = newBench(t, does(`act {"n":1}`), does("sleep", "sleep", "sleep"), says("done"))
		b.source, b.parallel = SystemSource(), 1
		b.limits.MaxDuration = 30 * time.Minute
		b.tools.onSleep = func() { time.Sleep(20 * time.Minute) }
		b.approvals, b.approver = &referee{do: asksAct}, judge{"act": {Allow: true}}
		if r := b.must(job.Input{Query: "go"}); r.Reason != event.LimitDuration {
			t.Errorf("the limit holds no more after a question: %+v", r)
		}
		time.Sleep(time.Hour) // let the tool end: a bubble waits for its goroutines
	})
}

// A new query gives up what waits; a branch from the checkpoint asks again.
func TestAnswerIsForOneRun(t *testing.T) {
	b := newBench(t, does(`act {"n":1}`), says("done"), says("done"))
	b.approvals = &referee{do: asksAct}
	first := b.must(job.Input{Query: "go"})
	b.answer(first.Waiting, true)
	b.must(job.Input{Continue: true})
	r := b.must(job.Input{Continue: true, From: first.CheckpointID})
	if r.Status != event.StatusStoppedByApproval || r.RunID == first.RunID || len(b.tools.ran) != 1 {
		t.Fatalf("on a branch: %+v; ran %v", r, b.tools.ran)
	}
	if r = b.must(job.Input{Continue: true, Query: "something else"}); r.Status != event.StatusCompleted || len(b.tools.ran) != 1 {
		t.Errorf("%+v; ran %v", r, b.tools.ran)
	}
	if w := b.load(b.store).Waiting(); len(w) != 0 {
		t.Errorf("waiting: %+v", w)
	}
}

// Text of files can hold secrets, and what a call would do is recorded.
func TestEffectIsRedacted(t *testing.T) {
	b := newBench(t, does(`act {"n":1}`), says("done"))
	b.approvals = effectful{}
	b.redact = func(s string) string { return strings.ReplaceAll(s, "s3cret", "[KEY]") }
	b.must(job.Input{Query: "go"})
	e := last[event.ApprovalRequested](b).Effect
	if e.Diff != "+[KEY]" || e.Argv[0] != "[KEY]" || e.Env[0] != "A=[KEY]" {
		t.Errorf("%+v", e)
	}
}

type effectful struct{}

func (effectful) Decide(context.Context, CallRequest) Decision {
	return Decision{Do: job.Ask, Digest: "d", Effect: event.Effect{Diff: "+s3cret", Argv: []string{"s3cret"}, Env: []string{"A=s3cret"}}}
}
