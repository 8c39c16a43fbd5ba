package run

import (
	"context"
	"fmt"
	"os"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/prompt"
)

// approver asks the user at the terminal about tool calls; nil if there is none. Everything that the
// command prints from then on waits while a question is on the terminal.
func (o *Options) approver(stored *host.Grants) engine.Approver {
	h := o.Host
	in, isFile := h.Stdin.(*os.File)
	if !isFile || !h.StdinIsTerminal || !h.StderrIsTerminal {
		return nil
	}
	terminal, output := h.Stderr, &prompt.Output{}
	h.Stderr = output.Writer(h.Stderr)
	if h.StdoutIsTerminal {
		h.Stdout = output.Writer(h.Stdout)
	}
	asker := prompt.New(in, h.Plain(terminal), prompt.Options{Color: h.Colors(), Redact: h.Secrets.Redact, Output: output})
	return &rememberer{asker, stored}
}

// A rememberer stores answers that hold longer than the job.
type rememberer struct {
	asker  engine.Approver
	stored *host.Grants
}

func (r *rememberer) Ask(ctx context.Context, request event.Request) (event.Answer, error) {
	answer, err := r.asker.Ask(ctx, request)
	if err != nil || request.Approval == nil || !answer.Allow || answer.Scope != event.ScopeProject && answer.Scope != event.ScopeAlways {
		return answer, err
	}
	a := request.Approval
	if err := r.stored.Remember(ctx, answer.Scope, request.JobID, a.Experts, a.Call, a.ApprovalRequested); err != nil {
		return event.Answer{}, fmt.Errorf("your answer could not be stored: %w", err)
	}
	return answer, nil
}
