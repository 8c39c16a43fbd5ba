package log

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/lines"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
)

// printEvents prints full events as JSON.
func (v *survey) printEvents(ctx context.Context, w io.Writer) error {
	out := event.NewWriter(w)
	_, err := v.walk(ctx, func(_ int64, e event.Event, _ []narrate.Row) error { return out.Write(e) })
	return err
}

// ruler is a line between Runs, no wider than the terminal.
func ruler(width int) string {
	const widest = 50
	if width <= 0 {
		width = widest
	}
	return strings.Repeat("─", min(width, widest))
}

// heading is the first line of an event. On a narrow terminal it is several.
func heading(where, kind, at string, width int) string {
	line := fmt.Sprintf("%s %-23s %s\n", where, kind, at)
	if width > 0 && len(line) > width+1 {
		return where + "\n  " + kind + "\n  " + at + "\n"
	}
	return line
}

// listEvents prints the job, then its Runs, each with its events. A Run that waited for
// delegates is printed in one piece, before theirs.
func (v *survey) listEvents(ctx context.Context, w *bufio.Writer) error {
	p := &printer{w: w, verbose: v.opts.Verbose}
	v.printHead(p)
	if v.follows() {
		return v.followEvents(ctx, p)
	}
	runs := make(map[string]*strings.Builder)
	matched, err := v.walk(ctx, func(seq int64, e event.Event, rows []narrate.Row) error {
		if runs[e.RunID] == nil {
			runs[e.RunID] = &strings.Builder{}
		}
		section := &printer{w: runs[e.RunID], verbose: v.opts.Verbose}
		return section.event(seq, e, rows, v.opts.Host.Width)
	})
	if err != nil {
		return err
	}
	for _, id := range v.runs {
		if section := runs[id]; section != nil {
			v.printRun(p, id)
			w.WriteString(section.String())
			p.line(ruler(v.opts.Host.Width))
			p.blank()
		}
	}
	v.printEnd(p)
	v.printFooter(p, matched, "event")
	return nil
}

// followEvents prints events as they come, and names the Run where it is another one.
func (v *survey) followEvents(ctx context.Context, p *printer) error {
	current := ""
	_, err := v.walk(ctx, func(seq int64, e event.Event, rows []narrate.Row) error {
		if current != e.RunID {
			current = e.RunID
			v.printRun(p, current)
		}
		return p.event(seq, e, rows, v.opts.Host.Width)
	})
	if err == nil {
		v.printEnd(p)
	}
	return err
}

// printEnd prints what comes after everything that happened: what was under way, and what the job
// waits for.
func (v *survey) printEnd(p *printer) {
	v.printOpen(p)
	v.printWaiting(p)
}

// printHead prints what there is to say about the job before what happened in it.
func (v *survey) printHead(p *printer) {
	if v.opts.Latest {
		p.line("(showing latest job)")
		p.blank()
	}
	v.printJob(p)
	if v.opts.Summary {
		v.printSummary(p)
	}
}

func (v *survey) printJob(p *printer) {
	job := v.history.Job
	status := v.status()
	if point, ok := v.history.Head(); ok && status == string(event.JobStoppedByLimit) && point.State.StopReason != "" {
		status += ": " + point.State.StopReason
	}
	p.field("Job", job.ID+" ("+status+")"+history.SealNote(v.seal))
	if from := job.Imported; from != nil {
		p.field("Imported", "on "+timestamp(from.At)+" UTC from "+from.Path+"; recorded by "+from.Program+", not by this program")
	}
	p.field("Expert", job.CoordinatorExpertKey)
	p.field("Started", timestamp(job.StartedAt)+" UTC")
	p.field("Steps", fmt.Sprint(job.TotalSteps))
	if job.FinishedAt > 0 {
		p.field("Finished", timestamp(job.FinishedAt)+" UTC")
	}
	p.field("Usage", usage(job.Usage))
	if v.opts.Summary || v.opts.Tree {
		p.given("Cost", cost(v.teller.totals))
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
	p.field("  Delegations", fmt.Sprint(v.tree.delegations))
	p.field("  Runs", fmt.Sprint(len(v.runs)))
	p.field("  Step Range", fmt.Sprintf("%d - %d", c.firstStep, c.lastStep))
	p.given("  Models", strings.Join(v.models(), ", "))
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

// printRun prints what there is to say about a Run before its events.
func (v *survey) printRun(p *printer, id string) {
	n := v.tree.runs[id]
	if n == nil { // it has not started
		n = &node{}
	}
	p.field("Run", id)
	p.given("Expert", strings.TrimSpace(n.ExpertKey+" "+n.version))
	p.given("Model", n.model)
	p.given("Perstack", n.perstack)
	n.printIsolation(p)
	p.field("Started", timestamp(v.started[id])+" UTC")
	if by := n.delegatedBy; by != nil {
		p.field("Delegated by", by.Expert.Key+", run "+by.RunID)
	}
	p.given("Origin", v.origin(id, func(id string) string { return id }))
	p.line(ruler(v.opts.Host.Width))
}

// printOpen shows what was under way when the journal ends.
func (v *survey) printOpen(p *printer) {
	for _, state := range v.history.Open() {
		if v.opts.Run != "" && v.opts.Run != state.RunID {
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
func (v *survey) printWaiting(p *printer) {
	if calls := v.history.Waiting(); len(calls) > 0 && v.opts.Run == "" {
		p.line("Waiting for your permission for " + wording.Count(len(calls), "tool call"))
		p.field("Look at it with", v.opts.command()+" approvals "+terminal.ShellJoin(v.jobID))
		p.blank()
		return
	}
	point, ok := v.history.Head()
	state := point.State
	if !ok || v.status() != string(event.JobStoppedByInteractiveTool) || state.Status != event.StatusStoppedByInteractiveTool ||
		v.opts.Run != "" && v.opts.Run != state.RunID {
		return
	}
	questions := state.Pending()
	p.line("Waiting for your answer to:")
	for _, c := range questions {
		p.text("  ", "- "+c.ToolName+" ", string(c.Args), answerCut)
	}
	if len(questions) > 1 {
		p.line("  (a plain answer goes to the first)")
	}
	p.field("Answer with", v.opts.answerCommand(v.jobID, state.Expert.Key, workspaceOf(v.history, point)))
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
	if o.Config != "" {
		rest = append(rest, "--config", o.Config)
	}
	if workspace != "" && workspace != o.Host.Dir {
		rest = append(rest, "--workspace", workspace)
	}
	return o.command() + " " + terminal.ShellJoin("run", expertKey) + ` "your answer" ` + terminal.ShellJoin(rest...) + " -i"
}

// printFooter says how many rows or events are not shown.
func (v *survey) printFooter(p *printer, shown int, what string) {
	switch total := v.matches; {
	case total == 0:
		p.line("(no " + what + " matches)")
	case shown == 0:
		p.line(fmt.Sprintf("(%s available, use --offset to view)", wording.Count(total, what)))
	case shown < total:
		p.line(fmt.Sprintf("(showing %d of %s)", shown, wording.Count(total, "matched "+what)))
		p.line("--take <n> shows more, --offset <n> skips the newest, --take 0 shows all")
	}
}

// event prints one event: its heading, the rows that it changes, and its checkpoint.
func (p *printer) event(seq int64, e event.Event, rows []narrate.Row, width int) error {
	where := fmt.Sprintf("[Step %d]", e.StepNumber)
	if e.IsRuntime() {
		where = "[Runtime]"
	}
	p.write(heading(where, string(e.Type()), e.Time().Format(time.TimeOnly), width))
	if b, ok := e.Body.(event.StartRun); ok && b.From != nil && b.From.RunID == e.RunID {
		p.field("  Resumes", "checkpoint "+b.From.CheckpointID)
	}
	var text strings.Builder
	err := lines.New(&text, lines.Options{Record: true, Whole: p.verbose, Width: width}).Print(rows)
	p.write(text.String())
	for _, f := range files(seq, e.Body) {
		p.field("  "+f.name, f.value)
	}
	if cp := e.Checkpoint(); cp != nil {
		p.field("  Checkpoint", cp.ID)
	}
	p.blank()
	return err
}

// A field is a value with its name.
type field struct{ name, value string }

// files is what an event says about the files of the workspace. seq is its record, by which
// perstack restore knows a state.
func files(seq int64, body event.Body) (all []field) {
	switch b := body.(type) {
	case event.WorkspaceSnapshot:
		by := "the job"
		switch {
		case b.Unsure:
			by = "the job or others"
		case b.Outside:
			by = "others"
		}
		all = append(all, field{"Snapshot", fmt.Sprintf("s%d (%s), changed by %s", seq, b.Reason, by)})
		if b.SkippedAll > 0 {
			all = append(all, field{"Not stored", wording.Count(b.SkippedAll, "file")})
		}
	case event.FilesRestored:
		all = append(all, field{"Snapshot", fmt.Sprintf("s%d, %s restored", seq, wording.Count(b.Changed, "path"))})
		for _, s := range b.Skipped {
			all = append(all, field{"Not restored", s.Path + ": " + s.Why})
		}
	case event.Rewound:
		all = append(all, field{"Continues from", cmp.Or(b.Head, "the beginning")})
	}
	return all
}
