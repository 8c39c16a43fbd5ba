package engine

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/store"
)

// An orderLog is a store that logs the order in which things happen.
type orderLog struct {
	store.Store
	mu      sync.Mutex
	lines   []string
	commits int
	before  int // commits when the model was about to be asked
}

func (d *orderLog) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *orderLog) Open(ctx context.Context, id string) (store.Journal, error) {
	j, err := d.Store.Open(ctx, id)
	return &orderLogJournal{j, d}, err
}

// awaitCommit waits for the commit that runs beside a model call, so that it cannot be
// taken for a later one.
func (d *orderLog) awaitCommit() {
	for {
		d.mu.Lock()
		done := d.commits > d.before
		d.mu.Unlock()
		if done {
			return
		}
		runtime.Gosched()
	}
}

type orderLogJournal struct {
	store.Journal
	d *orderLog
}

func (j *orderLogJournal) Append(ctx context.Context, e event.Event) (store.Record, error) {
	j.d.note("append %s", e.Type())
	if e.Type() == "startGeneration" {
		j.d.mu.Lock()
		j.d.before = j.d.commits
		j.d.mu.Unlock()
	}
	return j.Journal.Append(ctx, e)
}

func (j *orderLogJournal) Commit(ctx context.Context) error {
	j.d.note("commit")
	j.d.mu.Lock()
	j.d.commits++
	j.d.mu.Unlock()
	return j.Journal.Commit(ctx)
}

// ordered checks that a comes before b.
func (d *orderLog) ordered(t *testing.T, a, b string) {
	t.Helper()
	i, j := slices.Index(d.lines, a), slices.Index(d.lines, b)
	if i < 0 || j < 0 || i > j {
		t.Errorf("%q does not come before %q:\n%s", a, b, strings.Join(d.lines, "\n"))
	}
}

// Nothing is published before it is written. The record of a call with effects is durable
// before the call starts, and the end of a Run before it is published.
func TestOrder(t *testing.T) {
	b := newBench(t, does("sleep"), says("done"))
	d := &orderLog{Store: b.store}
	b.store = d
	b.tools.onSleep = func() { d.note("tool runs") }
	b.emit = func(e event.Event) error {
		if e.IsKept() {
			d.note("show %s", e.Type())
		}
		return nil
	}
	b.script.onRequest = d.awaitCommit
	b.must(job.Input{Query: "go"})

	for _, name := range []string{"startRun", "callTools", "resolveToolResults", "completeRun"} {
		d.ordered(t, "append "+name, "show "+name)
	}
	d.ordered(t, "append startToolCall", "tool runs")
	started := slices.Index(d.lines, "append startToolCall")
	if next := d.lines[started+1:]; next[0] != "commit" || next[1] != "tool runs" {
		t.Errorf("between the record of a call and its start: %v", next[:3])
	}
	done := slices.Index(d.lines, "append completeRun")
	if next := d.lines[done+1:]; next[0] != "commit" || next[1] != "show completeRun" {
		t.Errorf("between the record of the end and its show: %v", next)
	}
}

// Steps count over all Runs of the job, branches included.
func TestMaxStepsCountsBranches(t *testing.T) {
	b := newBench(t, does("read"), does("read"), says("done"))
	b.must(job.Input{Query: "go"}) // 3 steps
	history, err := Load(t.Context(), b.store, "job")
	if err != nil {
		t.Fatal(err)
	}
	var early string
	for id, p := range history.points {
		if p.State.StepNumber == 1 {
			early = id
		}
	}
	b.maxSteps = 4
	r := b.must(job.Input{Continue: true, From: early, Query: "again"})
	if r.Status != event.StatusStoppedByExceededMaxSteps || r.TotalSteps != 4 {
		t.Errorf("%+v; the branch is at step 2, but the job has used 4", r)
	}
	b.checkJournal()
}

// A run that was killed while its final answer was written completes on resume, even
// at its last step.
func TestKilledDuringTheFinalAnswer(t *testing.T) {
	b := newBench(t, does("act", "attemptCompletion"), says("done"))
	b.maxSteps = 2
	inner := b.store
	b.store = &killedStore{Store: inner, left: 7} // up to attemptCompletion
	if _, err := b.run(t.Context(), job.Input{Query: "go"}); err == nil {
		t.Fatal("the run was not killed")
	}
	b.store = inner
	b.must(job.Input{Continue: true})
	if got, want := b.trace(), "startRun@2 resumeToolCalls@2 attemptCompletion@2 completeRun@2"; got != want {
		t.Errorf("trace\n got %s\nwant %s", got, want)
	}
	b.checkJournal()
}

// A new query after a crash first answers the open calls: the model is told which were not
// carried out, and which have an unknown outcome.
func TestQueryAfterCrash(t *testing.T) {
	b := newBench(t, does("act", "wait", "read"), says("done"))
	b.parallel = 1
	b.tools.onWait = func() {}
	inner := b.store
	b.store = &killedStore{Store: inner, left: 6} // startRun startGeneration callTools start end(act) start(wait)
	ctx, cancel := context.WithCancel(t.Context())
	b.tools.onWait = cancel
	if _, err := b.run(ctx, job.Input{Query: "go"}); err == nil {
		t.Fatal("the run was not killed")
	}
	b.store = inner
	r := b.must(job.Input{Continue: true, Query: "never mind"})
	if r.Status != event.StatusCompleted {
		t.Fatalf("%+v", r)
	}
	request := b.script.requests[len(b.script.requests)-1]
	if problem := unanswered(request.Messages); problem != "" {
		t.Error(problem)
	}
	var texts []string
	for _, m := range request.Messages {
		for _, p := range m.Contents {
			if p.Type == event.ToolResultPart {
				texts = append(texts, event.FirstText(p.Contents))
			}
		}
	}
	if diff := strings.Join(texts, "|"); diff != "did act|"+event.UnknownOutcome+"|"+callSkipped {
		t.Errorf("results = %s", diff)
	}
	if last := request.Messages[len(request.Messages)-1].Text(); last != "never mind" {
		t.Errorf("last message = %q", last)
	}
	b.checkJournal()
}

// Reasoning is shown as it comes, and completed before the answer starts.
func TestStreamedEvents(t *testing.T) {
	answer := &model.Answer{Parts: thought("Let me see.", "", said("All done.")...), Finish: model.FinishStop}
	b := newBench(t, does("attemptCompletion"), turn{answer: answer, chunks: []model.Chunk{{Reasoning: "Let "}, {Reasoning: "me see."}, {Text: "All "}, {Text: "done."}}})
	b.must(job.Input{Query: "go"})
	var got []string
	for _, e := range b.events {
		switch body := e.Body.(type) {
		case event.StreamReasoning:
			got = append(got, "reasoning "+body.Delta)
		case event.CompleteStreamingReasoning:
			got = append(got, "reasoned "+body.Text)
		case event.StreamRunResult:
			got = append(got, "result "+body.Delta)
		case event.CompleteStreamingRunResult:
			got = append(got, "resulted "+body.Text)
		case event.StartStreamingReasoning, event.StartStreamingRunResult, event.CompleteRun:
			got = append(got, string(e.Type()))
		}
	}
	want := "startStreamingReasoning|reasoning Let |reasoning me see.|reasoned Let me see.|startStreamingRunResult|result All |result done.|resulted All done.|completeRun"
	if strings.Join(got, "|") != want {
		t.Errorf("stream\n got %s\nwant %s", strings.Join(got, "|"), want)
	}
}

// Text is published as it comes, also if it is not known yet whether tool calls follow.
func TestTextStreams(t *testing.T) {
	remark := does("read").with(func(a *model.Answer) { a.Parts = said("I look.", a.Parts...) })
	remark.chunks = []model.Chunk{{Text: "I "}, {Text: "look."}}
	b := newBench(t, remark, turn{answer: says("All done.").answer, chunks: []model.Chunk{{Text: "All done."}}})
	b.must(job.Input{Query: "go"})
	var got []string
	for _, e := range b.events {
		switch body := e.Body.(type) {
		case event.StreamText:
			got = append(got, body.Delta)
		case event.CompleteStreamingText:
			got = append(got, "= "+body.Text)
		case event.StartStreamingText, event.CallTools, event.CompleteRun, event.StartStreamingRunResult:
			got = append(got, string(e.Type()))
		}
	}
	want := "startStreamingText|I |look.|= I look.|callTools|startStreamingText|All done.|= All done.|completeRun"
	if strings.Join(got, "|") != want {
		t.Errorf("stream\n got %s\nwant %s", strings.Join(got, "|"), want)
	}
}

// A stream that breaks off after some text is a transport failure, not an answer.
func TestBrokenStream(t *testing.T) {
	b := newBench(t, turn{chunks: []model.Chunk{{Text: "All "}}, cut: true, fail: nil, answer: says("All done.").answer})
	r := b.must(job.Input{Query: "go"})
	if r.Text != "All done." || !strings.Contains(b.trace(), "retry@1") {
		t.Errorf("%q after %s", r.Text, b.trace())
	}
}

// After a panic in the model's client, the end of the Run is still recorded. A panic in the
// listener is not mistaken for one in the client.
func TestPanics(t *testing.T) {
	b := newBench(t, turn{panics: true})
	if r := b.must(job.Input{Query: "go"}); r.Failure == nil || !strings.Contains(r.Failure.Message, "internal error in the model's client") {
		t.Errorf("%+v", r)
	}
	b.checkJournal()

	b = newBench(t, turn{chunks: []model.Chunk{{Reasoning: "x"}}, answer: says("hi").answer})
	b.emit = func(e event.Event) error {
		if e.Type() == "streamReasoning" {
			panic("the listener's own")
		}
		return nil
	}
	defer func() {
		if p := recover(); p != "the listener's own" {
			t.Errorf("recovered %v", p)
		}
	}()
	b.must(job.Input{Query: "go"})
	t.Error("the panic was swallowed")
}
