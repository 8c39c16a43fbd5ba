package embed

import (
	"context"
	"errors"
	"testing"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/store/memory"
)

// A job is continued with a query, and a branch starts from an earlier checkpoint of it.
func TestResumeAndBranch(t *testing.T) {
	history := memory.New()
	spec := newSpec(t, "one")
	text, first := answer(t, spec, perstack.Parts{Model: echo{}, Store: history})
	if text != "You said: one" {
		t.Fatalf("%q", text)
	}
	spec.JobID = first.JobID
	for _, query := range []string{"two", "another two"} {
		spec.Input = job.Input{Continue: true, From: first.CheckpointID, Query: query}
		if text, result := answer(t, spec, perstack.Parts{Model: echo{}, Store: history}); text != "You said: "+query || result.JobID != first.JobID || result.RunID == first.RunID {
			t.Errorf("%q, %+v", text, result)
		}
	}
	spec.Input = job.Input{Continue: true, Query: "three"}
	if text, _ := answer(t, spec, perstack.Parts{Model: echo{}, Store: history}); text != "You said: three" {
		t.Errorf("%q", text)
	}
	spec.JobID = "unknown"
	if _, err := perstack.Answer(t.Context(), spec, perstack.Parts{Model: echo{}, Store: history}); err == nil {
		t.Error("a job that does not exist was continued")
	}
}

const threeSteps = `
[[turn]]
[[turn.call]]
tool = "think"
args = { thought = "one" }
[[turn]]
[[turn.call]]
tool = "think"
args = { thought = "two" }
[[turn]]
text = "Done."
`

// A limit stops a job with an error that has the facts, and the job can be resumed with
// more.
func TestLimit(t *testing.T) {
	history := memory.New()
	spec := newSpec(t, "go")
	play(t, &spec, threeSteps)
	spec.Limits.MaxSteps = 2
	_, err := perstack.Answer(t.Context(), spec, perstack.Parts{Store: history})
	stopped := (*perstack.StoppedError)(nil)
	if !errors.As(err, &stopped) || stopped.Result.Status != event.StatusStoppedByExceededMaxSteps || stopped.Result.TotalSteps != 2 {
		t.Fatalf("%v", err)
	}
	spec.JobID, spec.Limits.MaxSteps = stopped.Result.JobID, 10
	spec.Input = job.Input{Continue: true} // the stricter limit is kept
	if _, err := perstack.Answer(t.Context(), spec, perstack.Parts{Store: history}); !errors.As(err, &stopped) || stopped.Result.TotalSteps != 2 {
		t.Fatalf("%v", err)
	}
	spec.Input.Relax = true
	if text, _ := answer(t, spec, perstack.Parts{Store: history}); text != "Done." {
		t.Errorf("%q", text)
	}
}

// A program that stops listening stops the job, which is saved.
func TestBreak(t *testing.T) {
	history := memory.New()
	spec := newSpec(t, "go")
	play(t, &spec, threeSteps)
	spec.JobID = "mine"
	for e, err := range perstack.Run(t.Context(), spec, perstack.Parts{Store: history}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Body.(event.CallTools); ok {
			break
		}
	}
	spec.Input = job.Input{Continue: true}
	if text, _ := answer(t, spec, perstack.Parts{Store: history}); text != "Done." {
		t.Errorf("%q", text)
	}
}

// A job is not continued in another directory, unless the program says that it may.
func TestMovedWorkspace(t *testing.T) {
	history := memory.New()
	spec := newSpec(t, "one")
	_, first := answer(t, spec, perstack.Parts{Model: echo{}, Store: history})
	had := spec.Workspace.Dir
	spec.JobID, spec.Input = first.JobID, job.Input{Continue: true, Query: "two"}
	spec.Workspace.Dir = t.TempDir()
	moved := (*job.MovedError)(nil)
	if _, err := perstack.Answer(t.Context(), spec, perstack.Parts{Model: echo{}, Store: history}); !errors.As(err, &moved) || moved.Had != had {
		t.Fatalf("%v", err)
	}
	spec.Input.Relax = true
	if text, _ := answer(t, spec, perstack.Parts{Model: echo{}, Store: history}); text != "You said: two" {
		t.Errorf("%q", text)
	}
}

const asking = `
[[turn]]
[[turn.call]]
tool = "chooseDay"
args = { question = "Which day?" }
[[turn]]
contains = "Tuesday"
text = "Booked for Tuesday."
`

// askingSpec is a job whose Expert asks the user.
func askingSpec(t *testing.T) job.Spec {
	t.Helper()
	spec := newSpec(t, "Book a room.")
	play(t, &spec, asking)
	spec.Experts[0].Skills = []*expert.Skill{{
		Name: "user", Type: expert.InteractiveSkill,
		Tools: []expert.InteractiveTool{{Name: "chooseDay", Description: "Asks for a day.", InputSchema: []byte(`{"type":"object","properties":{"question":{"type":"string"}}}`)}},
	}}
	return spec
}

// approver answers questions while the job runs.
type approver func(event.Request) (event.Answer, error)

func (a approver) Ask(_ context.Context, r event.Request) (event.Answer, error) { return a(r) }

// A question is answered by the program at once, or stops the job until it is.
func TestQuestion(t *testing.T) {
	var asked event.Request
	text, _ := answer(t, askingSpec(t), perstack.Parts{Approver: approver(func(r event.Request) (event.Answer, error) {
		asked = r
		return event.Answer{Text: "Tuesday"}, nil
	})})
	if text != "Booked for Tuesday." || asked.Question.ToolName != "chooseDay" || asked.ExpertKey != "clerk" {
		t.Errorf("%q, asked %+v", text, asked)
	}

	for name, a := range map[string]perstack.Approver{
		"no approver": nil,
		"no answer":   approver(func(event.Request) (event.Answer, error) { return event.Answer{}, perstack.ErrNoAnswer }),
	} {
		history, spec := memory.New(), askingSpec(t)
		_, err := perstack.Answer(t.Context(), spec, perstack.Parts{Store: history, Approver: a})
		stopped := (*perstack.StoppedError)(nil)
		if !errors.As(err, &stopped) || stopped.Result.Status != event.StatusStoppedByInteractiveTool || len(stopped.Result.Pending) != 1 {
			t.Fatalf("%s: %v", name, err)
		}
		spec.JobID = stopped.Result.JobID
		spec.Input = job.Input{Continue: true, Answer: &event.ToolAnswer{Text: "Tuesday"}}
		if text, _ := answer(t, spec, perstack.Parts{Store: history}); text != "Booked for Tuesday." {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// An error of the program's approver ends the job, and is the cause of the error that the
// program gets. The resumed job asks again.
func TestApproverFails(t *testing.T) {
	history, spec, gone := memory.New(), askingSpec(t), errors.New("the window was closed")
	_, err := perstack.Answer(t.Context(), spec, perstack.Parts{Store: history, Approver: approver(func(event.Request) (event.Answer, error) {
		return event.Answer{}, gone
	})})
	stopped := (*perstack.StoppedError)(nil)
	if !errors.As(err, &stopped) || stopped.Result.Status != event.StatusStoppedByError || !errors.Is(err, gone) {
		t.Fatalf("%v", err)
	}
	spec.JobID, spec.Input = stopped.Result.JobID, job.Input{Continue: true}
	text, _ := answer(t, spec, perstack.Parts{Store: history, Approver: approver(func(event.Request) (event.Answer, error) {
		return event.Answer{Text: "Tuesday"}, nil
	})})
	if text != "Booked for Tuesday." {
		t.Errorf("%q", text)
	}
}
