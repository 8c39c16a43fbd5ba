package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/skill"
	"github.com/perstack-go/perstack/store/memory"
)

// The calls of one turn run in parallel, at most 16.
func TestParallelCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := make([]string, 40)
		for i := range calls {
			calls[i] = "sleep"
		}
		turn := does(calls...)
		for i := range turn.answer.Parts {
			turn.answer.Parts[i].ToolCallID = string(rune('A' + i))
		}
		b := newBench(t, turn, says("done"))
		var running, most atomic.Int64
		b.tools.onSleep = func() {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Second) // of the bubble's clock
			running.Add(-1)
		}
		b.must(job.Input{Query: "go"})
		if got := most.Load(); got != 16 {
			t.Errorf("%d calls ran at once, want 16", got)
		}
		if got := len(b.tools.ran); got != 40 {
			t.Errorf("%d calls ran, want 40", got)
		}
		b.checkJournal()
	})
}

// A tool that ignores an interrupt delays the end of the Run by 5 seconds at most. Its outcome
// is unknown, and on resume it is not run again.
func TestStubbornTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, does("sleep"), says("done"))
		ctx, cancel := context.WithCancelCause(t.Context())
		began := time.Now()
		b.tools.onSleep = func() {
			cancel(errors.New("stop"))
			time.Sleep(time.Hour)
		}
		r, err := b.run(ctx, job.Input{Query: "go"})
		if err != nil || r.Status != event.StatusStoppedByInterrupt {
			t.Fatalf("%+v, %v", r, err)
		}
		if took := time.Since(began); took != stopTimeout {
			t.Errorf("the run ended after %v, want %v", took, stopTimeout)
		}
		b.must(job.Input{Continue: true})
		result := last[event.ResolveToolResults](b).ToolResults[0]
		if text := event.FirstText(result.Result); text != event.UnknownOutcome || !result.IsError {
			t.Errorf("result = %q", text)
		}
		if len(b.tools.ran) != 1 {
			t.Errorf("ran %v", b.tools.ran)
		}
		b.checkJournal()
		time.Sleep(2 * time.Hour) // let it end: a bubble waits for its goroutines
	})
}

// The delay before a transport retry doubles and is randomized. A delay that the provider
// requests is used instead.
func TestRetryDelay(t *testing.T) {
	r := &run{parts: &Parts{Source: FixedSource(time.Time{})}} // its fraction is 0: half of the wait
	for retries, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 16 * time.Second} {
		r.state.RetryCount = retries
		if got := r.retryDelay(0); got != want {
			t.Errorf("after %d retries: %v, want %v", retries, got, want)
		}
	}
	if got := r.retryDelay(7 * time.Second); got != 7*time.Second {
		t.Errorf("asked for 7s, waits %v", got)
	}
	if got := r.retryDelay(time.Hour); got != 10*time.Minute {
		t.Errorf("asked for an hour, waits %v", got)
	}
	b := newBench(t, turn{fail: []error{busy, busy}, answer: says("hi").answer})
	began := b.source.Now()
	b.must(job.Input{Query: "go"})
	if took, want := b.source.Now().Sub(began), 3*time.Second; took != want {
		t.Errorf("two retries took %v, want %v", took, want)
	}
}

// A generation that takes too long is cancelled. It is not retried: it would take as long and
// cost as much again.
func TestGenerationTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, turn{block: true})
		b.maxRetries = 1
		b.timeout = time.Minute
		r := b.must(job.Input{Query: "go"})
		if r.Failure == nil || r.Failure.Name != "TimeoutError" {
			t.Fatalf("%+v", r)
		}
		if got := len(b.script.requests); got != 1 {
			t.Errorf("the model was asked %d times, want 1", got)
		}
	})
}

// The attempt counts failures in transport only: a content retry is a new turn.
func TestAttempt(t *testing.T) {
	b := newBench(t, says(""), turn{fail: []error{busy}, answer: says("hi").answer})
	b.must(job.Input{Query: "go"})
	var got []model.Request
	for _, r := range b.script.requests {
		got = append(got, model.Request{Turn: r.Turn, Attempt: r.Attempt})
	}
	for i, want := range []model.Request{{Turn: 0}, {Turn: 1}, {Turn: 1, Attempt: 1}} {
		if i >= len(got) || got[i].Turn != want.Turn || got[i].Attempt != want.Attempt {
			t.Errorf("request %d: %+v, want %+v", i, got, want)
		}
	}
}

// A deadlineTools skill records the deadlines of its calls.
type deadlineTools struct {
	leak
	calls, limited int
}

func (p *deadlineTools) Call(ctx context.Context, call event.ToolCall) (event.ToolResult, error) {
	p.calls++
	if _, limit := ctx.Deadline(); limit {
		p.limited++
	}
	return event.ToolResult{ID: call.ID, Result: []event.Part{{Type: event.TextPart, Text: "done"}}}, nil
}

// A tool has no deadline: the timeout of a job is for generations.
func TestToolsHaveNoDeadline(t *testing.T) {
	p := &deadlineTools{}
	_, err := Execute(t.Context(), job.Spec{
		JobID: "job", Expert: "e", Experts: []*expert.Expert{{Key: "e", Name: "e"}}, Input: job.Input{Query: "go"},
		Settings: job.Settings{Limits: job.Limits{Limits: expert.Limits{MaxSteps: 2}, Timeout: time.Minute}},
	}, Parts{
		Model: &script{turns: []turn{does("tell"), does("tell")}}, Store: memory.New(), Source: FixedSource(time.UnixMilli(0)), Log: slog.New(slog.DiscardHandler),
	}, func(ctx context.Context, _ SkillRequest) (*skill.Toolbox, error) {
		return skill.NewToolbox(ctx, []skill.Source{{Skill: p}}, slog.New(slog.DiscardHandler))
	})
	if err != nil || p.calls == 0 || p.limited > 0 {
		t.Errorf("%d calls, %d with a time limit, %v", p.calls, p.limited, err)
	}
}
