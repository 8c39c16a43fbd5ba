package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
)

// answers is an approver with an answer for each tool.
type answers map[string]string

func (a answers) Ask(_ context.Context, req event.Request) (event.Answer, error) {
	text, ok := a[req.Question.ToolName]
	switch {
	case text == "broken":
		return event.Answer{}, errors.New("the terminal is gone")
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

// What the approver does not answer, or cannot, waits for the user. What it has answered
// before stays answered.
func TestApproverDoesNotAnswer(t *testing.T) {
	for _, later := range []answers{{"ask": "blue"}, {"ask": "blue", "confirm": "broken"}} {
		b := newBench(t, does(`ask {"q":1}`, "confirm"), says("done"))
		b.approver = later
		r := b.must(job.Input{Query: "go"})
		if r.Status != event.StatusStoppedByInteractiveTool || len(r.Pending) != 1 || r.Pending[0].ToolName != "confirm" {
			t.Fatalf("the job was left as %+v", r)
		}
		if r = b.must(job.Input{Continue: true, Answer: &event.ToolAnswer{Text: "no"}}); r.Status != event.StatusCompleted {
			t.Errorf("after the answer: %+v", r)
		}
	}
}
