package engine

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
)

var errTerminal = errors.New("the terminal is gone")

// answers is an approver with an answer for each tool.
type answers map[string]string

func (a answers) Ask(_ context.Context, req event.Request) (event.Answer, error) {
	text, ok := a[req.Question.ToolName]
	switch {
	case text == "broken":
		return event.Answer{}, errTerminal
	case !ok:
		return event.Answer{}, ErrNoAnswer
	}
	return event.Answer{Text: text}, nil
}

// A question that the approver answers does not stop the job. It is recorded before it is asked, and
// its answer like the result of any tool.
func TestApproverAnswers(t *testing.T) {
	b := newBench(t, does(`ask {"q":1}`, "confirm"), says("done"))
	b.approver = answers{"ask": "blue", "confirm": "yes"}
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusCompleted || r.Text != "done" {
		t.Fatalf("the job was left as %+v", r)
	}
	var got []string
	for _, r := range b.written() {
		switch b := r.Event.Body.(type) {
		case event.CallInteractiveTool:
			got = append(got, b.ToolCallID+"?")
		case event.EndToolCall:
			got = append(got, b.ToolResult.ToolName+": "+b.ToolResult.Result[0].Text)
		}
	}
	if want := []string{"c1?", "ask: blue", "c2?", "confirm: yes"}; !slices.Equal(got, want) {
		t.Errorf("recorded %q, want %q", got, want)
	}
	if got, want := b.trace(), "startRun@1 startGeneration@1 callTools@1 callInteractiveTool@1 callInteractiveTool@1 resolveToolResults@1 finishToolCall@1 continueToNextStep@1 startGeneration@2 completeRun@2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// What the approver does not answer waits for the user. What it has answered before stays
// answered.
func TestApproverDoesNotAnswer(t *testing.T) {
	b := newBench(t, does(`ask {"q":1}`, "confirm"), says("done"))
	b.approver = answers{"ask": "blue"}
	r := b.must(job.Input{Query: "go"})
	if r.Status != event.StatusStoppedByInteractiveTool || len(r.Pending) != 1 || r.Pending[0].ToolName != "confirm" {
		t.Fatalf("the job was left as %+v", r)
	}
	if r = b.must(job.Input{Continue: true, Answer: &event.ToolAnswer{Text: "no"}}); r.Status != event.StatusCompleted {
		t.Errorf("after the answer: %+v", r)
	}
}

// A process that dies while the user is asked has lost nothing: the next one asks again, in the same
// Run, and a third one that has no approver leaves the question open.
func TestApproverKilled(t *testing.T) {
	for _, then := range []answers{{"ask": "blue"}, nil} {
		b := newBench(t, does(`ask {"q":1}`), says("done"))
		b.approver = answers{"ask": "never said"}
		b.killedAfter("writer", "callInteractiveTool", job.Input{Query: "go"})
		b.approver = then
		r := b.must(job.Input{Continue: true})
		if then == nil {
			if r.Status != event.StatusStoppedByInteractiveTool || len(r.Pending) != 1 {
				t.Fatalf("the job was left as %+v", r)
			}
			r = b.must(job.Input{Continue: true, Answer: &event.ToolAnswer{Text: "blue"}})
		}
		runs := make(map[string]bool)
		for _, w := range b.written() {
			runs[w.Event.RunID] = true
		}
		if r.Status != event.StatusCompleted || len(runs) != 1 {
			t.Errorf("the job was left as %+v, after %d Runs", r, len(runs))
		}
	}
}

// An error of the approver ends the job, and is in its result. The resumed job asks again,
// and only what has no answer yet.
func TestApproverFails(t *testing.T) {
	for _, then := range []answers{{"confirm": "yes"}, nil} {
		b := newBench(t, does(`ask {"q":1}`, "confirm"), says("done"))
		b.approver = answers{"ask": "blue", "confirm": "broken"}
		r := b.must(job.Input{Query: "go"})
		if r.Status != event.StatusStoppedByError || r.Failure.Name != ApproverFailure || !errors.Is(r.Err, errTerminal) {
			t.Fatalf("the job was left as %+v", r)
		}
		b.approver = then
		r = b.must(job.Input{Continue: true})
		if then == nil { // the user answers later
			if len(r.Pending) != 1 || r.Pending[0].ToolName != "confirm" || r.Err != nil {
				t.Fatalf("the job was left as %+v", r)
			}
			r = b.must(job.Input{Continue: true, Answer: &event.ToolAnswer{Text: "no"}})
		}
		if r.Status != event.StatusCompleted {
			t.Errorf("after the answer: %+v", r)
		}
	}
}

// approverFunc is an approver without answers.
type approverFunc func(context.Context) error

func (f approverFunc) Ask(ctx context.Context, _ event.Request) (event.Answer, error) {
	return event.Answer{}, f(ctx)
}

// A job that is cancelled while the approver is asked is interrupted, whatever the approver
// returns.
func TestApproverCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	b := newBench(t, does(`ask {"q":1}`))
	b.approver = approverFunc(func(ctx context.Context) error {
		cancel(errors.New("enough"))
		return ctx.Err()
	})
	r, err := b.run(ctx, job.Input{Query: "go"})
	if err != nil || r.Status != event.StatusStoppedByInterrupt || r.Reason != "enough" || r.Err != nil {
		t.Errorf("%+v, %v", r, err)
	}
}
