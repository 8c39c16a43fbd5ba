package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
)

// quota is a limit that code outside the engine watches.
func quota() *LimitError { return &LimitError{Limit: event.LimitWorkspace, Used: 300, Max: 100} }

// Wherever a limit is reached, the Run ends by it: the numbers are recorded, then the
// end, and it can resume like after an interrupt.
func TestLimit(t *testing.T) {
	tests := []struct {
		name  string
		turns []turn
		at    event.Type // the event at which the limit is reached; none: when a tool waits
		ran   int        // how often tools ran in the end
	}{
		{"before the model is asked", []turn{says("hi")}, "startRun", 0},
		{"while the model thinks", []turn{{block: true, answer: says("hi").answer}}, "startGeneration", 0},
		{"while a tool runs", []turn{does("wait", "read"), says("hi")}, "", 2},
		{"before the tools run", []turn{does("act", "read"), says("hi")}, "callTools", 2},
		{"between results and message", []turn{does("act"), says("hi")}, "resolveToolResults", 1},
		{"between steps", []turn{does("act"), says("hi")}, "continueToNextStep", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.turns...)
			ctx, cancel := context.WithCancelCause(t.Context())
			reached := func() { cancel(fmt.Errorf("the watcher says: %w", quota())) }
			b.tools.onWait = reached
			b.emit = func(e event.Event) error {
				if e.Type() == tt.at {
					reached()
				}
				return nil
			}
			r, err := b.run(ctx, job.Input{Query: "go"})
			if err != nil || r.Status != event.StatusStoppedByLimit || r.Reason != event.LimitWorkspace {
				t.Fatalf("%+v, %v", r, err)
			}
			if r.Limit == nil || *r.Limit != *quota() {
				t.Errorf("limit = %+v", r.Limit)
			}
			if w := last[event.LimitWarning](b); w.Limit != event.LimitWorkspace || w.Used != 300 || w.Max != 100 {
				t.Errorf("warning = %+v", w)
			}
			step := last[event.StopRunByLimit](b).Step.StepNumber
			if end := fmt.Sprintf("limitWarning@%d stopRunByLimit@%[1]d", step); !strings.HasSuffix(b.trace(), end) {
				t.Errorf("trace %s, want the end %s", b.trace(), end)
			}
			b.emit = nil
			for i := range b.script.turns {
				b.script.turns[i].block = false
			}
			second := b.must(job.Input{Continue: true})
			if second.RunID != r.RunID || second.Status != event.StatusCompleted || second.Limit != nil {
				t.Errorf("resumed: %+v", second)
			}
			if len(b.tools.ran) != tt.ran {
				t.Errorf("tools ran %v, want %d calls", b.tools.ran, tt.ran)
			}
			b.checkJournal()
		})
	}
}

// At whichever event a limit is reached, the Run has exactly one end, and what was
// recorded is enough to resume.
func TestRandomLimits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t, scripts(rt)...)
		b.maxRetries = 100
		at := rapid.IntRange(1, 60).Draw(rt, "event")
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		seen := 0
		b.emit = func(event.Event) error {
			if seen++; seen == at {
				cancel(quota())
			}
			return nil
		}
		r, err := b.run(ctx, job.Input{Query: "go"})
		if err != nil {
			rt.Fatal(err)
		}
		ends := 0
		for _, e := range b.events {
			if e.IsTerminal() {
				ends++
			}
		}
		if ends != 1 {
			rt.Errorf("%d ends: %s", ends, b.trace())
		}
		stopped := strings.Contains(b.trace(), "stopRunByLimit")
		if stopped != (r.Status == event.StatusStoppedByLimit) || stopped && r.Limit == nil {
			rt.Errorf("%+v after %s", r, b.trace())
		}
		b.emit = nil
		switch r.Status {
		case event.StatusStoppedByLimit:
			b.finish(job.Input{Continue: true})
		case event.StatusStoppedByInteractiveTool:
			b.finish(job.Input{Continue: true, Answer: &event.ToolAnswer{Text: "fine"}})
		}
		b.checkJournal()
		b.checkFold()
	})
}
