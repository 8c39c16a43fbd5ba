package engine

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

// write makes a journal of events that no engine has recorded.
func write(t testing.TB, s store.Store, events []event.Event) {
	t.Helper()
	j, err := s.Open(t.Context(), "job")
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for _, e := range events {
		if _, err := j.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
}

// Folding is total: events that lack what they should have do no harm.
func TestEventsThatLackMessages(t *testing.T) {
	for _, body := range []event.Body{
		event.StartRun{InputMessages: []*event.Message{nil}},
		event.CallTools{}, event.CallTools{ToolCalls: []event.ToolCall{{ID: "c"}}},
		event.EndToolCall{}, event.FinishToolCall{}, event.FinishAllToolCalls{}, event.AttemptCompletion{},
		event.Retry{NewMessages: []*event.Message{nil}}, event.Retry{ToolCalls: []event.ToolCall{{ID: "c"}}},
		event.CallDelegate{}, event.CallDelegate{Delegates: []event.DelegateRun{{}}}, event.CallInteractiveTool{},
		event.LimitWarning{}, event.ContinueToNextStep{}, event.CompleteRun{}, event.StopRunByError{}, event.StopRunByLimit{},
	} {
		h := NewHistory()
		for i, b := range []event.Body{event.StartRun{}, body, event.CallInteractiveTool{}, event.CallDelegate{}, event.StopRunByDelegate{}} {
			h.Expand(store.Record{Seq: int64(i + 1), Event: event.Event{JobID: "job", RunID: "r", ExpertKey: "writer", Body: b}})
		}
		head, ok := h.Head()
		if !ok || head.State.Status != event.StatusStoppedByDelegate {
			t.Errorf("after %T the Run is %s", body, head.State.Status)
		}
	}
}

// A journal whose Runs are each other's parents causes no endless loop: the coordinator can
// continue, the Runs in the cycle cannot.
func TestCycleOfParents(t *testing.T) {
	const n = 2000
	b := newBench(t, says("done"))
	add := func(all []event.Event, run, point string, by *event.Parent) []event.Event {
		e := event.Event{ID: "e", JobID: "job", RunID: run, ExpertKey: "writer"}
		start, end := e, e
		start.Body = event.StartRun{Expert: event.ExpertRef{Key: "writer"}, CheckpointID: point, DelegatedBy: by}
		end.Body = event.StopRunByInterrupt{}
		return append(all, start, end)
	}
	all := add(nil, "w", "cw", nil)
	for i := range n {
		next := (i + 1) % n
		all = add(all, fmt.Sprint("r", i), fmt.Sprint("c", i), &event.Parent{RunID: fmt.Sprint("r", next), CheckpointID: fmt.Sprint("c", next)})
	}
	write(t, b.store, all)
	if _, err := b.run(t.Context(), job.Input{Continue: true, Query: "q", From: "c17"}); !isInput(err) || !strings.Contains(err.Error(), "does not say which Expert delegated to it") {
		t.Errorf("from the circle: %v", err)
	}
	if r := b.must(job.Input{Continue: true, Query: "q"}); r.Text != "done" {
		t.Errorf("%+v", r)
	}
}

// choices are decisions about how to damage a journal, one per byte.
type choices struct{ bytes.Reader }

func (c *choices) below(n int) int {
	b, err := c.ReadByte()
	if err != nil {
		return 0
	}
	return int(b) % n
}

func (c *choices) of(all []string) string {
	if n := c.below(len(all) + 1); n < len(all) {
		return all[n]
	}
	return "unknown"
}

// names are the ids that a journal speaks of.
type names struct{ runs, points, calls []string }

func namesIn(all []event.Event) (n names) {
	for _, e := range all {
		switch b := e.Body.(type) {
		case event.StartRun:
			n.runs, n.points = append(n.runs, e.RunID), append(n.points, b.CheckpointID)
		case event.CallTools:
			for _, c := range b.ToolCalls {
				n.calls = append(n.calls, c.ID)
			}
		}
	}
	return n
}

func (c *choices) delegates(n names) []event.DelegateRun {
	return []event.DelegateRun{{
		ToolCallID: c.of(n.calls), RunID: c.of(n.runs), Query: []string{"", "q"}[c.below(2)],
		From:      &event.Origin{RunID: c.of(n.runs), CheckpointID: c.of(n.points), Seq: int64(c.below(100)) - 5},
		Delegates: []event.DelegateRun{{ToolCallID: c.of(n.calls), RunID: c.of(n.runs)}},
	}}
}

// mangle turns a valid journal into a hostile one: it drops, moves and repeats records, assigns
// them to other Runs, and exchanges what they refer to.
func (c *choices) mangle(all []event.Event) []event.Event {
	n, out := namesIn(all), slices.Clone(all)
	for range 1 + c.below(6) {
		i := c.below(len(out))
		switch c.below(8) {
		case 0:
			out = slices.Delete(out, i, i+1)
		case 1:
			j := c.below(len(out))
			out[i], out[j] = out[j], out[i]
		case 2:
			out[i].RunID = c.of(n.runs)
		case 3:
			out = append(out, out[i])
		case 4:
			out = out[:i+1]
		default:
			out[i].Body = c.mangleBody(n, out[i].Body)
		}
		if len(out) == 0 {
			return all
		}
	}
	return out
}

func (c *choices) mangleBody(n names, body event.Body) event.Body {
	switch b := body.(type) {
	case event.StartRun:
		switch c.below(5) {
		case 0:
			b.From = &event.Origin{RunID: c.of(n.runs), CheckpointID: c.of(n.points), Seq: int64(c.below(100)) - 5}
		case 1:
			b.Delegates = c.delegates(n)
		case 2:
			b.DelegatedBy = &event.Parent{RunID: c.of(n.runs), CheckpointID: c.of(n.points), ToolCallID: c.of(n.calls)}
		case 3:
			b.DelegatedBy = nil
		case 4:
			b.InputMessages = nil
		}
		return b
	case event.CallDelegate:
		b.Delegates = append(slices.Clone(b.Delegates), c.delegates(n)...)
		b.Delegates[0].RunID = c.of(n.runs)
		return b
	case event.CallTools:
		b.ToolCalls = slices.Clone(b.ToolCalls)
		for i := range b.ToolCalls {
			b.ToolCalls[i].SkillName = c.of([]string{"helper", "deep", "writer", "tools"})
			b.ToolCalls[i].ToolName = c.of([]string{"helper", "deep", "writer", "read", "ask"})
		}
		if c.below(3) == 0 {
			b.NewMessage = nil
		}
		return b
	case event.CompleteRun:
		b.NewMessage = nil
		return b
	}
	return body
}

// Any journal can be folded and shown. Its job continues, ends, or is refused as invalid input:
// no panic, and no error that looks like one of the store.
func FuzzJournal(f *testing.F) {
	good := family(f)
	var all []event.Event
	for r, err := range good.store.Read(f.Context(), "job", 0) {
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, r.Event)
	}
	f.Add([]byte{}, "")
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 7))
		data := make([]byte, 40)
		for i := range data {
			data[i] = byte(rng.IntN(256))
		}
		f.Add(data, []string{"", "more"}[seed%2])
	}
	f.Fuzz(func(t *testing.T, data []byte, query string) {
		c := &choices{*bytes.NewReader(data)}
		events := c.mangle(all)
		from := c.of(append(namesIn(all).points, "", "", ""))
		s := memory.New()
		write(t, s, events)
		h := NewHistory()
		for r, err := range s.Read(t.Context(), "job", 0) {
			if err != nil {
				t.Fatal(err)
			}
			h.Expand(r)
		}
		for _, p := range h.points {
			p.State.Checkpoint()
		}
		b := newTeam(t, good.script.team)
		b.store, b.atOnce = s, 1+c.below(3)
		b.source = &fixed{now: time.UnixMilli(0), ids: 1 << 20} // no id is given out twice
		if _, err := b.run(t.Context(), job.Input{Continue: true, From: from, Query: query}); err != nil && !isInput(err) {
			t.Errorf("from %q: %v", from, err)
		}
	})
}
