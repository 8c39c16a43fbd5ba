package engine

import (
	"context"
	"errors"
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

// A question that the approver answers does not stop the job, and its answer is recorded
// like the result of any tool.
func TestApproverAnswers(t *testing.T) {
	b := newBench(t, does(`ask {"q":1}`, "confirm"), says("done"))
	b.approver = answers{"ask": "blue", "confirm": "yes"}
	if r := b.must(job.Input{Query: "go"}); r.Status != event.StatusCompleted || r.Text != "done" {
		t.Fatalf("the job was left as %+v", r)
	}
	var got []string
	for _, r := range b.written() {
		if end, ok := r.Event.Body.(event.EndToolCall); ok {
			got = append(got, end.ToolResult.ToolName+": "+end.ToolResult.Result[0].Text)
		}
	}
	if len(got) != 2 || got[0] != "ask: blue" || got[1] != "confirm: yes" {
		t.Errorf("recorded answers: %q", got)
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
