package run

import (
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/answers"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
)

// A listener takes answers from other processes, from the first call on that waits for one.
type listener struct {
	output  *output
	history host.History
	inbox   *engine.Inbox
	close   func()
	idle    bool // nothing waits yet
}

func (o *output) answers(history host.History, inbox *engine.Inbox) *listener {
	l := &listener{output: o, history: history, inbox: inbox, close: func() {}, idle: true}
	if h := o.plan.target.history; h != nil && len(h.Waiting()) > 0 {
		l.begin(o.plan.target.jobID)
	}
	return l
}

// on begins to listen when a call is asked about.
func (l *listener) on(e event.Event) {
	if _, asks := e.Body.(event.ApprovalRequested); asks {
		l.begin(e.JobID)
	}
}

func (l *listener) begin(jobID string) {
	if !l.idle || l.history.Project.State == "" {
		return
	}
	l.idle = false
	stop, err := answers.Listen(l.history.Project.State, l.history.Dir, jobID, l.inbox)
	if err != nil {
		l.output.opts.logger().Warn("other processes cannot answer while the job runs", "error", err)
		return
	}
	l.close = stop
}

// waits says which calls wait for the user's permission, and how to give it.
func (o *output) waits(r engine.Result) string {
	if len(r.Waiting) == 0 {
		return "the answer came when the job had stopped already; resume with: " + o.opts.Again(r.JobID)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "waiting for your permission for %s:", wording.Count(len(r.Waiting), "tool call"))
	first := ""
	for _, w := range r.Waiting {
		first = w.Call.ID
		if len(r.Waiting) <= maxShown {
			fmt.Fprintf(&text, "\n  %s  %s", terminal.ShowLine(w.Call.ID), wording.Cut(terminal.ShowLine(Effect(w)), 200))
		}
	}
	call := "CALL"
	if len(r.Waiting) == 1 {
		call = terminal.ShellJoin(first)
	}
	where := o.opts.where()
	command, id := o.opts.Host.Command, terminal.ShellJoin(r.JobID)
	fmt.Fprintf(&text, "\nlook at it with: %s approvals %s%s", command, id, where)
	fmt.Fprintf(&text, "\nallow it with: %s approve %s %s%s", command, id, call, where)
	fmt.Fprintf(&text, "\nor deny it with: %s deny %s %s --reason \"...\"%s", command, id, call, where)
	fmt.Fprintf(&text, "\nthen resume with: %s", o.opts.Again(r.JobID))
	return text.String()
}

// maxShown is how many calls are listed at the end of a run.
const maxShown = 10

// where returns the flags by which other commands find the job.
func (o *Options) where() string {
	var words []string
	if o.Config != "" {
		words = append(words, "--config", o.Config)
	}
	if o.Storage != "" {
		words = append(words, "--storage", o.Storage)
	}
	if len(words) == 0 {
		return ""
	}
	return " " + terminal.ShellJoin(words...)
}

// Effect says on one line what a call would do.
func Effect(w engine.WaitingCall) string {
	switch e := w.Request.Effect; e.Kind {
	case event.CommandEffect:
		return terminal.ShellJoin(e.Argv...)
	case event.FileEffect:
		return w.Call.ToolName + " " + e.Path
	case event.PlanEffect:
		return "plan: " + strings.Join(strings.Fields(e.Plan), " ")
	}
	return w.Call.ToolName + " " + string(w.Call.Args)
}
