package run

import (
	"os"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/cli/prompt"
	"github.com/perstack-go/perstack/job"
)

// approver asks the user at the terminal about tool calls; nil if there is none. A container cannot
// ask. Everything that the command prints from then on waits while a question is on the terminal.
func (o *Options) approver(runtime string) engine.Approver {
	h := o.Host
	in, isFile := h.Stdin.(*os.File)
	if !isFile || !h.StdinIsTerminal || !h.StderrIsTerminal || runtime == job.Docker {
		return nil
	}
	terminal, output := h.Stderr, &prompt.Output{}
	h.Stderr = output.Writer(h.Stderr)
	if h.StdoutIsTerminal {
		h.Stdout = output.Writer(h.Stdout)
	}
	return prompt.New(in, h.Plain(terminal), prompt.Options{Color: h.Colors(), Redact: h.Secrets.Redact, Output: output})
}
