package run

import (
	"context"
	"fmt"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/prompt"
	"github.com/perstack-go/perstack/internal/terminal"
)

// approver asks the user at the terminal about tool calls, and what Experts want to know; nil if there is
// none. Everything that the
// command prints from then on waits while a question is on the terminal.
func (o *Options) approver(stored *host.Grants) engine.Approver {
	h := o.Host
	if o.View != nil {
		return &rememberer{o.View.Ask, stored}
	}
	in, ok := o.keyboard()
	if !ok {
		return nil
	}
	terminal, output := h.Stderr, &prompt.Output{}
	h.Stderr = output.Writer(h.Stderr)
	if h.StdoutIsTerminal {
		h.Stdout = output.Writer(h.Stdout)
	}
	asker := prompt.New(in, h.Plain(terminal), prompt.Options{Color: h.Colors(), Redact: h.Secrets.Redact, Output: output, Offers: offers, Plain: h.Getenv("TERM") == "dumb"})
	return &rememberer{asker, stored}
}

// offers returns the answers that a user can give for longer than once: the usual ones, and one for
// all calls of a program and its subcommand.
func offers(a *event.Approval) []prompt.Offer {
	all := prompt.Offers(a)
	if words, ok := host.Wider(a); ok && len(all) > 0 {
		command := terminal.ShellJoin(words[:len(words)-1]...) + " **"
		all = append(all, prompt.Offer{
			Key: 'w', Text: fmt.Sprintf("allow %s in this project", command), Words: command,
			Answer: event.Answer{Allow: true, Scope: event.ScopeProject, Wide: true},
		})
	}
	return all
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
	if err := r.stored.Remember(ctx, answer.Scope, request.JobID, request.Approval, answer.Wide); err != nil {
		return event.Answer{}, fmt.Errorf("your answer could not be stored: %w", err)
	}
	return answer, nil
}
