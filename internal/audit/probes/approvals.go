package probes

import (
	"context"
	"os"
	"path/filepath"

	"github.com/perstack-go/perstack"
	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// askJob runs a job whose questions the approver answers; nil if no one does.
func askJob(ctx context.Context, spec job.Spec, m model.Model, environ []string, approver engine.Approver) (result engine.Result, err error) {
	parts := perstack.Parts{Model: m, Environ: environ, Approver: approver, Done: func(r engine.Result) { result = r }}
	for _, err := range perstack.Run(ctx, spec, parts) {
		if err != nil {
			return result, err
		}
	}
	return result, nil
}

// An asked user answers questions about calls, and counts them.
type asked struct {
	n      int
	answer func(n int) event.Answer
}

func (a *asked) Ask(context.Context, event.Request) (event.Answer, error) {
	a.n++
	return a.answer(a.n), nil
}

// approved attacks W6: it lets a model write to a file that a rule asks about, without an answer, after
// a denial, and with something else in the file than was asked about.
func (m *Machine) approved(ctx context.Context) audit.Result {
	dir, err := m.dir("approvals")
	if err != nil {
		return noStart(err)
	}
	path := filepath.Join(dir, "a")
	spec := job.Spec{
		Expert:    "lead",
		Experts:   []*expert.Expert{{Key: "lead", Name: "lead", Version: "1.0.0", Instruction: "Write."}},
		Input:     job.Input{Query: "Begin."},
		Workspace: job.Workspace{Dir: dir},
	}
	spec.Approvals.Sources = []job.Rules{{Origin: job.FromUser, Rules: []job.Rule{{Tool: "writeTextFile", Do: job.Ask}}}}
	try := func(before string, approver engine.Approver) (after string, result engine.Result, err error) {
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			return "", result, err
		}
		p := &puppet{say: func(_ string, turn int) []event.Part {
			if turn == 0 {
				return []event.Part{calls("c1", "writeTextFile", `{"path":"a","text":"model"}`)}
			}
			return []event.Part{text("done")}
		}}
		if result, err = m.Parts.Ask(ctx, spec, p, m.Environ, approver); err != nil {
			return "", result, err
		}
		data, err := userfile.Read(path, 1<<10)
		return string(data), result, err
	}
	allow := func(int) event.Answer { return event.Answer{Allow: true} }
	after, _, err := try("user", &asked{answer: allow})
	if err != nil {
		return noStart(err)
	}
	if after != "model" {
		return noControl("a call that was allowed did not happen")
	}
	after, result, err := try("user", nil)
	switch {
	case err != nil:
		return noStart(err)
	case after != "user" || result.Status != event.StatusStoppedByApproval:
		return audit.Break(audit.BuiltIn, "a call happened that the user was not asked about")
	}
	if after, _, err = try("user", &asked{answer: func(int) event.Answer { return event.Answer{} }}); err != nil || after != "user" {
		return audit.Break(audit.BuiltIn, "a call happened that the user denied")
	}
	// The file changes while the user thinks. The answer was about the file as it was.
	late := &asked{}
	late.answer = func(n int) event.Answer {
		if n == 1 {
			_ = os.WriteFile(path, []byte("edited"), 0o600) // without it, there is one question, which is the finding
			return event.Answer{Allow: true}
		}
		return event.Answer{}
	}
	if after, _, err = try("user", late); err != nil || after != "edited" || late.n != 2 {
		return audit.Break(audit.BuiltIn, "an answer counted for another call than the user was asked about")
	}
	return audit.Hold(audit.BuiltIn, "a call that a rule asks about did not happen without an answer, nor after a denial; when the file changed before the answer, the user was asked again")
}
