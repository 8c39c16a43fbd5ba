package log

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/lines"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/store"
)

// explain prints what happened in a job, as text or as full events.
func explain(ctx context.Context, opts *Options, s store.Store, jobID string) error {
	v, err := look(ctx, opts, s, jobID)
	if err != nil {
		return err
	}
	if v.last == 0 {
		return v.end(opts)
	}
	out := bufio.NewWriter(opts.Host.Stdout)
	if opts.JSON {
		err = v.printEvents(ctx, opts, s, jobID, out)
	} else {
		err = v.printText(ctx, opts, s, jobID, out)
	}
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = v.end(opts)
	}
	return err
}

func (v *survey) printEvents(ctx context.Context, opts *Options, s store.Store, jobID string, w io.Writer) error {
	out := event.NewWriter(w)
	return v.walk(ctx, opts, s, jobID, func(m moment) error { return out.Write(m.event) })
}

const ruler = "──────────────────────────────────────────────────"

// printText prints the job, then its Runs, each with its events. A Run that waited
// for delegates stands in one piece, before theirs.
func (v *survey) printText(ctx context.Context, opts *Options, s store.Store, jobID string, w *bufio.Writer) error {
	p := &printer{w: w, verbose: opts.Verbose}
	if opts.Latest {
		p.line("(showing latest job)")
		p.blank()
	}
	v.printJob(p, opts)
	if opts.Summary {
		v.printSummary(p)
	}
	runs := make(map[string]*strings.Builder)
	shown := 0
	err := v.walk(ctx, opts, s, jobID, func(m moment) error {
		shown++
		run := m.event.RunID
		if runs[run] == nil {
			runs[run] = &strings.Builder{}
		}
		section := &printer{w: runs[run], verbose: opts.Verbose}
		return section.event(m, opts.Host.Width)
	})
	if err != nil {
		return err
	}
	for _, head := range v.runs {
		if section := runs[head.id]; section != nil {
			head.print(p)
			w.WriteString(section.String())
			p.line(ruler)
			p.blank()
		}
	}
	v.printOpen(p, opts)
	v.printWaiting(p, opts)
	v.printFooter(p, shown)
	return nil
}

func (v *survey) printJob(p *printer, opts *Options) {
	job := v.history.Job
	status := v.status()
	if point, ok := v.history.Head(); ok && status == string(event.JobStoppedByLimit) && point.State.StopReason != "" {
		status += ": " + point.State.StopReason
	}
	p.field("Job", job.ID+" ("+status+")")
	p.field("Expert", job.CoordinatorExpertKey)
	p.field("Started", timestamp(job.StartedAt)+" UTC")
	p.field("Steps", fmt.Sprint(job.TotalSteps))
	if job.FinishedAt > 0 {
		p.field("Finished", timestamp(job.FinishedAt)+" UTC")
	}
	p.field("Usage", usage(job.Usage))
	if cost := v.costs.line(); cost != "" && (opts.Summary || opts.Tree) {
		p.field("Cost", cost)
	}
	p.blank()
}

func usage(u event.Usage) string {
	return fmt.Sprintf("%d tokens (input %d, of which cached %d; output %d, of which reasoning %d)",
		u.TotalTokens, u.InputTokens, u.CachedInputTokens, u.OutputTokens, u.ReasoningTokens)
}

func (v *survey) printSummary(p *printer) {
	c := v.counts
	p.line("Summary:")
	p.field("  Total Events", fmt.Sprint(c.events))
	p.field("  Errors", fmt.Sprint(c.errors))
	p.field("  Tool Calls", c.tools())
	p.field("  Delegations", fmt.Sprint(len(c.delegates)))
	p.field("  Runs", fmt.Sprint(len(v.runs)))
	p.field("  Step Range", fmt.Sprintf("%d - %d", c.firstStep, c.lastStep))
	if models := v.models(); len(models) > 0 {
		p.field("  Models", strings.Join(models, ", "))
	}
	p.blank()
}

// tools counts calls of all kinds, and says how many of them perstack had no hand in.
func (c *counts) tools() string {
	all := fmt.Sprint(c.calls + c.providerCalls)
	if c.providerCalls > 0 {
		all += fmt.Sprintf(" (%d run by the provider)", c.providerCalls)
	}
	return all
}

func (h *runHead) print(p *printer) {
	p.field("Run", h.id)
	if h.expert.Key != "" {
		p.field("Expert", strings.TrimSpace(h.expert.Key+" "+h.expert.Version))
	}
	if h.model != "" {
		p.field("Model", h.model)
	}
	if h.version != "" {
		p.field("Perstack", h.version)
	}
	h.printIsolation(p)
	p.field("Started", timestamp(h.started)+" UTC")
	if h.delegatedBy != nil {
		p.field("Delegated by", h.delegatedBy.Expert.Key+", run "+h.delegatedBy.RunID)
	}
	switch {
	case h.origin == nil:
	case h.branches:
		p.field("Origin", fmt.Sprintf("branch from checkpoint %s of run %s", h.origin.CheckpointID, h.origin.RunID))
	default:
		p.field("Origin", fmt.Sprintf("continues run %s after checkpoint %s", h.origin.RunID, h.origin.CheckpointID))
	}
	p.line(ruler)
}

// printOpen shows what was under way when the journal ends.
func (v *survey) printOpen(p *printer, opts *Options) {
	for _, state := range v.history.Open() {
		if opts.Run != "" && opts.Run != state.RunID {
			continue
		}
		p.field("Under way", fmt.Sprintf("step %d of run %s", state.StepNumber, state.RunID))
		for _, c := range state.Step.Calls {
			call := "  - " + lines.Headline(narrate.Describe(c.ToolCall)) + ": "
			switch {
			case c.Result != nil:
			case c.Child != nil:
				p.line(call + "handed to run " + c.Child.RunID)
			case !c.Started:
				p.line(call + "not started")
			case v.status() == string(event.JobRunning):
				p.line(call + "running")
			default:
				p.line(call + "started, outcome unknown")
			}
		}
		p.blank()
	}
}

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

func (v *survey) printFooter(p *printer, shown int) {
	switch {
	case v.total == 0:
		p.line("(no event matches)")
	case shown == 0:
		p.line(fmt.Sprintf("(%d events available, use --offset to view)", v.total))
	case shown < v.total:
		p.line(fmt.Sprintf("(showing %d of %d matched events)", shown, v.total))
		p.line("--take <n> shows more, --offset <n> skips the newest, --take 0 shows all")
	}
}
