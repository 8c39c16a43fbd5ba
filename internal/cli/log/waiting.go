package log

import (
	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
)

// printWaiting shows what a job wants to know from the user, and how to answer.
func (v *survey) printWaiting(p *printer, opts *Options) {
	point, ok := v.history.Head()
	state := point.State
	if !ok || v.status() != string(event.JobStoppedByInteractiveTool) || state.Status != event.StatusStoppedByInteractiveTool ||
		opts.Run != "" && opts.Run != state.RunID {
		return
	}
	questions := state.Pending()
	p.line("Waiting for your answer to:")
	for _, c := range questions {
		p.text("  ", "- "+c.ToolName+" ", "", string(c.Args), answerCut)
	}
	if len(questions) > 1 {
		p.line("  (a plain answer goes to the first)")
	}
	p.field("Answer with", opts.answerCommand(v.history.Job.ID, state.Expert.Key, workspaceOf(v.history, point)))
	p.blank()
}

// workspaceOf is the directory that a job worked in; empty if it is not recorded.
func workspaceOf(h *engine.History, p engine.Point) string {
	spec, err := h.Spec(p)
	if err != nil {
		return ""
	}
	return spec.Workspace.Dir
}

// answerCommand is the command line that answers a job, ready for a shell: names of
// the journal are quoted, since they may be anything.
func (o *Options) answerCommand(jobID, expertKey, workspace string) string {
	rest := []string{"--continue-job", jobID}
	if o.Storage != "" {
		rest = append(rest, "--storage", o.Storage)
	}
	if workspace != "" && workspace != o.Host.Dir {
		rest = append(rest, "--workspace", workspace)
	}
	return o.command() + " " + host.ShellJoin("run", expertKey) + ` "your answer" ` + host.ShellJoin(rest...) + " -i"
}
