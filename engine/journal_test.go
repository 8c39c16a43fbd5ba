package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
)

// sameState compares states by what they mean, not by which memory they share.
var sameState = cmp.Options{
	cmp.Transformer("thread", func(t *thread) []*event.Message { return t.messages() }),
	cmp.AllowUnexported(State{}, repetition{}, expense{}),
	cmpopts.EquateEmpty(),
}

// checkJournal checks what must hold for every journal: it folds to the state that the
// run had, starts and ends come in pairs, and every call has one result.
func (b *bench) checkJournal() {
	b.t.Helper()
	open := map[string]bool{}
	results := map[string]int{}
	var job event.Job
	var usage event.Usage
	for r, err := range b.store.Read(b.t.Context(), "job", 0) {
		if err != nil {
			b.t.Fatalf("read the journal: %v", err)
		}
		job = job.Apply(r.Event)
		run := r.Event.RunID
		switch body := r.Event.Body.(type) {
		case event.StartRun:
			if open[run] {
				b.t.Errorf("record %d: run %s starts while it is open", r.Seq, run)
			}
			open[run] = true
			for _, a := range body.Answers {
				results[run+" "+a.ID]++
			}
			for _, m := range body.InputMessages { // what a new query settled
				for _, p := range m.Contents {
					if key := run + " " + p.ToolCallID; p.Type == event.ToolResultPart {
						if body.From != nil {
							key = body.From.RunID + " " + p.ToolCallID
						}
						results[key] = 1
					}
				}
			}
		case event.CallTools:
			usage = usage.Add(body.Usage)
			for _, c := range body.ToolCalls {
				results[run+" "+c.ID] = 0 // models may use an id again
			}
		case event.EndToolCall:
			key := run + " " + body.ToolResult.ID
			if results[key]++; results[key] > 1 {
				b.t.Errorf("record %d: call %s has %d results", r.Seq, body.ToolResult.ID, results[key])
			}
		case event.Retry:
			usage = usage.Add(body.Usage)
		case event.CompleteRun:
			usage = usage.Add(body.Usage)
		case event.StopRunByError:
			usage = usage.Add(body.Usage)
		}
		if r.Event.IsTerminal() {
			if !open[run] {
				b.t.Errorf("record %d: run %s ends twice", r.Seq, run)
			}
			open[run] = false
		}
	}
	for run, isOpen := range open {
		if isOpen {
			b.t.Errorf("run %s has no end", run)
		}
	}
	if job.Status == event.JobCompleted {
		for call, n := range results {
			if n != 1 {
				b.t.Errorf("call %s has %d results", call, n)
			}
		}
	}
	if diff := cmp.Diff(usage, job.Usage); diff != "" {
		b.t.Errorf("usage of the job is not the sum over its events:\n%s", diff)
	}
}

// The state of a live run is the fold of its journal, at every record.
func TestFoldEqualsLiveState(t *testing.T) {
	b := newBench(t, does("read", "act"), does("ask"), says(""), says("done"))
	b.must(job.Input{Query: "go"})
	b.must(job.Input{Continue: true, Answer: &event.ToolAnswer{Text: "yes"}})
	history, err := Load(t.Context(), b.store, "job")
	if err != nil {
		t.Fatal(err)
	}
	head, _ := history.Head()
	want := last[event.CompleteRun](b).Checkpoint
	if diff := cmp.Diff(want, head.State.Checkpoint(), sameState); diff != "" {
		t.Errorf("checkpoint of the live run and of the fold (-live +fold):\n%s", diff)
	}
}
