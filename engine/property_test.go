package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/store"
)

// scripts draws a conversation: turns of calls of every kind, failures and oddities,
// and a last turn that answers.
func scripts(t *rapid.T) []turn {
	call := rapid.SampledFrom([]string{"read", "act", "fail", "boom", "broken", "nothing", "nope", "read {", "todo {\"newTodos\":[\"x\"]}", "todo {}", "attemptCompletion", "ask", "confirm", "act {\"n\":1}", "act {\"n\":\"many\"}", "ask {\"q\":\"why\"}"})
	n := rapid.IntRange(0, 6).Draw(t, "turns")
	var turns []turn
	for i := range n {
		tn := does(rapid.SliceOfN(call, 1, 4).Draw(t, "calls")...)
		for j := range tn.answer.Parts {
			tn.answer.Parts[j].ToolCallID = fmt.Sprintf("t%dc%d", i, j)
		}
		switch rapid.IntRange(0, 9).Draw(t, "oddity") {
		case 0:
			tn = says("")
		case 1:
			tn.answer.Finish = model.FinishLength
		case 2:
			tn.answer.Parts = said("a remark", tn.answer.Parts...)
		case 3:
			tn.fail = []error{busy}
		case 4:
			tn.answer.Parts = thought("hm", "s", tn.answer.Parts...)
		}
		turns = append(turns, tn)
	}
	// The model gives up its todos and answers; a completion can need one more turn.
	return append(turns, says("answer"), says("answer"))
}

// finish drives a job to its end: it answers questions and resumes what was cut off.
func (b *bench) finish(first job.Input) Result {
	in := first
	for range 100 {
		r, err := b.run(context.Background(), in)
		switch {
		case errors.Is(err, errDead):
			if in = first; recorded(b.store) {
				in = job.Input{Continue: true}
			}
		case err != nil:
			b.t.Fatalf("run: %v", err)
		case r.Status == event.StatusStoppedByInteractiveTool:
			in = job.Input{Continue: true, Answer: &event.ToolAnswer{Text: "fine"}}
		case r.Status == event.StatusCompleted, r.Failure != nil && r.Failure.Name == "LengthExceeded":
			return r
		default:
			b.t.Fatalf("ended as %s: %+v", r.Status, r.Failure)
		}
	}
	b.t.Fatal("the job does not end")
	return Result{}
}

func TestRandomRuns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t, scripts(rt)...)
		b.maxRetries = 100
		b.finish(job.Input{Query: "go"})
		b.checkJournal()
		b.checkFold()
	})
}

// errDead is what a journal says after the process has "died".
var errDead = errors.New("killed")

// A killedStore fails after some appends, like the store of a process that is killed: it has
// what was appended, and nothing else.
type killedStore struct {
	store.Store
	mu    sync.Mutex
	left  int                    // less than 0: any number
	until func(event.Event) bool // or the last event that is appended
}

func (m *killedStore) Open(ctx context.Context, id string) (store.Journal, error) {
	j, err := m.Store.Open(ctx, id)
	return &killedJournal{j, m}, err
}

type killedJournal struct {
	store.Journal
	m *killedStore
}

func (j *killedJournal) Append(ctx context.Context, e event.Event) (store.Record, error) {
	j.m.mu.Lock()
	defer j.m.mu.Unlock()
	if j.m.left == 0 {
		return store.Record{}, errDead
	}
	j.m.left--
	if j.m.until != nil && j.m.until(e) {
		j.m.left = 0
	}
	return j.Journal.Append(ctx, e)
}

// killAndFinish kills a job some times, each within so many records, and then drives it to
// its end.
func (b *bench) killAndFinish(rt *rapid.T, records int) {
	inner := b.store
	for range rapid.IntRange(1, 4).Draw(rt, "kills") {
		b.store = &killedStore{Store: inner, left: rapid.IntRange(0, records).Draw(rt, "records")}
		in := job.Input{Query: "go"}
		if recorded(inner) {
			in = job.Input{Continue: true}
		}
		r, err := b.run(b.t.Context(), in)
		if err == nil && r.Status == event.StatusStoppedByInteractiveTool {
			_, err = b.run(b.t.Context(), job.Input{Continue: true, Answer: &event.ToolAnswer{Text: "fine"}})
		}
		if err != nil && !errors.Is(err, errDead) && !isInput(err) {
			rt.Fatalf("killed run: %v", err)
		}
	}
	b.store = inner
	h, err := Load(b.t.Context(), inner, "job")
	switch {
	case err != nil || h.last.Seq == 0:
		b.finish(job.Input{Query: "go"})
	case h.Job.Status == event.JobStoppedByInteractiveTool:
		b.finish(job.Input{Continue: true, Answer: &event.ToolAnswer{Text: "fine"}})
	case h.Job.Status != event.JobCompleted:
		b.finish(job.Input{Continue: true})
	}
}

// However often and wherever a run is killed, resuming it loses nothing that was
// recorded, pays no recorded generation again and repeats no call with effects.
func TestRandomKills(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t, scripts(rt)...)
		b.maxRetries = 100
		b.killAndFinish(rt, 40)
		b.checkJournal()
		b.checkFold()
		ran, generated := map[string]int{}, map[string]int{}
		for _, id := range b.tools.ran {
			ran[id]++
		}
		for r, err := range b.store.Read(t.Context(), "job", 0) {
			if err != nil {
				rt.Fatal(err)
			}
			calls, ok := r.Event.Body.(event.CallTools)
			if !ok {
				continue
			}
			for _, c := range calls.ToolCalls {
				if generated[c.ID]++; generated[c.ID] > 1 {
					rt.Errorf("the turn of call %s was generated again", c.ID)
				}
				if c.ToolName != "read" && ran[c.ID] > 1 {
					rt.Errorf("call %s of %s ran %d times", c.ID, c.ToolName, ran[c.ID])
				}
			}
		}
	})
}

// recorded reports whether the job has any record.
func recorded(s store.Store) bool {
	for _, err := range s.Read(context.Background(), "job", 0) {
		return err == nil
	}
	return false
}

// checkFold compares every full event that was shown with the one that folding the
// journal gives, and checks the conversations that were sent to the model.
func (b *bench) checkFold() {
	b.t.Helper()
	folded := map[string]event.Event{}
	history := NewHistory()
	for r, err := range b.store.Read(context.Background(), "job", 0) {
		if err != nil {
			b.t.Fatal(err)
		}
		full := history.Expand(r)
		folded[full.ID] = full
	}
	for _, e := range b.events {
		if !e.IsKept() {
			continue
		}
		if diff := cmp.Diff(e, folded[e.ID], sameState); diff != "" {
			b.t.Errorf("%s@%d as shown and as folded (-shown +folded):\n%s", e.Type(), e.StepNumber, diff)
		}
	}
	for _, req := range b.script.requests {
		if problem := unanswered(req.Messages); problem != "" {
			b.t.Errorf("turn %d: %s", req.Turn, problem)
		}
	}
}

// unanswered says which tool call of a conversation lacks its result, in the next
// message, in order. Providers refuse such a request.
func unanswered(messages []*event.Message) string {
	for i, m := range messages {
		var calls []string
		for _, p := range m.Contents {
			if p.Type == event.ToolCallPart {
				calls = append(calls, p.ToolCallID)
			}
		}
		if len(calls) == 0 {
			continue
		}
		var results []string
		if i+1 < len(messages) {
			for _, p := range messages[i+1].Contents {
				if p.Type == event.ToolResultPart {
					results = append(results, p.ToolCallID)
				}
			}
		}
		if got, want := strings.Join(results, " "), strings.Join(calls, " "); got != want {
			return fmt.Sprintf("calls %q are answered by %q", want, got)
		}
	}
	return ""
}
