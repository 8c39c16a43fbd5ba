package engine

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
)

// A limit on tool calls counts the calls that models make. The turn that exceeds it is not
// carried out, and is when the job is resumed with more. Completion does not count.
func TestToolCallLimit(t *testing.T) {
	for _, c := range []struct {
		name  string
		turns []turn
		limit int
		ran   int // calls that are carried out before the job stops
		used  float64
	}{
		{"one at a time", []turn{does("act"), does("read"), does("act"), says("done")}, 2, 2, 2},
		{"all of the limit", []turn{does("act", "read"), says("done")}, 2, 2, -1},
		{"a turn that does not fit is not begun", []turn{does("act"), does("read", "act", "read"), says("done")}, 3, 1, 1},
		{"parallel calls", []turn{does("act", "read", "act"), says("done")}, 2, 0, 0},
		{"calls that are refused count", []turn{does("none"), does("act"), says("done")}, 1, 0, 1},
		{"completion does not count", []turn{does("act"), does("attemptCompletion"), says("done")}, 1, 1, -1},
		{"completion beside other calls does not count", []turn{does("act", "read", "attemptCompletion"), says("done")}, 1, 0, 0},
		{"a question counts", []turn{does(`ask {"q":1}`), does("act"), says("done")}, 1, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, c.turns...)
			b.toolCalls, b.approver = c.limit, answers{"ask": "blue"}
			r := b.must(job.Input{Query: "go"})
			if c.used < 0 {
				if r.Status != event.StatusCompleted {
					t.Fatalf("%+v", r)
				}
				return
			}
			if r.Status != event.StatusStoppedByLimit || r.Reason != event.LimitToolCalls || r.Limit.Used != c.used || r.Limit.Max != float64(c.limit) || len(b.tools.ran) != c.ran {
				t.Fatalf("%+v, limit %+v, %d calls ran", r, r.Limit, len(b.tools.ran))
			}
			if r = b.must(job.Input{Continue: true}); r.Status != event.StatusStoppedByLimit || len(b.tools.ran) != c.ran {
				t.Fatalf("resumed with the same limit: %+v, %d calls ran", r, len(b.tools.ran))
			}
			b.toolCalls = int(r.Limit.Needs)
			if r = b.must(job.Input{Continue: true}); r.Status != event.StatusCompleted {
				t.Errorf("resumed with more: %+v", r)
			}
			b.checkJournal()
			b.checkFold()
		})
	}
}

// The model is told once when most of the calls are used.
func TestToolCallWarning(t *testing.T) {
	for want, calls := range map[string][]string{
		"toolCalls 4 of 5: Note from the runtime: 4 of 5 tool calls of this task are used, and it will be stopped when they run out, so finish what matters most and answer soon.": {"act", "read", "act", "read"},
		"toolCalls 5 of 5: Note from the runtime: all 5 tool calls of this task are used. Give your answer now, without a tool call.":                                              {"act", "read", "act", "read", "read"},
	} {
		b := newBench(t, does(calls...), says("done"))
		b.toolCalls = 5
		b.must(job.Input{Query: "go"})
		var told []string
		for _, e := range b.events {
			if w, ok := e.Body.(event.LimitWarning); ok {
				told = append(told, fmt.Sprintf("%s %.0f of %.0f: %s", w.Limit, w.Used, w.Max, w.NewMessage.Text()))
			}
		}
		if len(told) != 1 || told[0] != want {
			t.Errorf("%q", told)
		}
	}
}

// Delegates count, and so do their own calls. A stopped delegate does not count as
// failed: the whole job stops, and resumes where it was.
func TestToolCallLimitOfATeam(t *testing.T) {
	b := newTeam(t, map[string][]turn{
		"writer": {does(many(2, "helper")...), says("done")},
		"helper": {does("act", "read"), says("helped")},
	})
	b.toolCalls = 5 // two delegates, and two calls of the first
	r := b.must(job.Input{Query: "go"})
	if r.Status != event.StatusStoppedByLimit || r.Reason != event.LimitToolCalls || len(b.tools.ran) != 2 {
		t.Fatalf("%+v, %d calls ran", r, len(b.tools.ran))
	}
	b.toolCalls = 6
	if r = b.must(job.Input{Continue: true}); r.Status != event.StatusCompleted || len(b.tools.ran) != 4 {
		t.Errorf("%+v, %d calls ran", r, len(b.tools.ran))
	}
	if failed := last[event.CompleteRun](b); failed.NewMessage.Text() != "done" {
		t.Errorf("%+v", failed)
	}
	b.checkJournal()
	b.checkFold()
	b.checkTree()
}

// Whatever several Experts do at once, no more calls are carried out than are allowed, over
// all resumes, and a job that is allowed more and more completes.
func TestRandomToolCallLimits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newRandomTeam(t, rt)
		b.toolCalls = rapid.IntRange(1, 10).Draw(rt, "limit")
		in := job.Input{Query: "go"}
		for range 200 {
			r := b.must(in)
			if len(b.tools.ran) > b.toolCalls {
				rt.Fatalf("%d calls ran, %d are allowed", len(b.tools.ran), b.toolCalls)
			}
			switch r.Status {
			case event.StatusCompleted:
				b.checkJournal()
				b.checkFold()
				b.checkTree()
				return
			case event.StatusStoppedByInteractiveTool:
				in = job.Input{Continue: true, Answer: &event.ToolAnswer{Text: "fine"}}
			case event.StatusStoppedByLimit:
				b.toolCalls += rapid.IntRange(1, 20).Draw(rt, "more")
				in = job.Input{Continue: true}
			default:
				if r.Failure != nil && r.Failure.Name == "LengthExceeded" {
					return
				}
				rt.Fatalf("%+v", r)
			}
		}
		rt.Fatal("the job does not end")
	})
}
