// Package start is the command perstack start: Experts, conversations and the history of a project on
// one screen, by internal/tui, or line by line, by internal/tui/plain.
//
// [Run] chooses between the two. A project (project.go) is what both work with: journal.go reads its
// jobs, and task.go runs them as perstack run does.
package start

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/run"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/tui"
	"github.com/perstack-go/perstack/internal/tui/guard"
	"github.com/perstack-go/perstack/internal/tui/paint"
	"github.com/perstack-go/perstack/internal/tui/plain"
	"github.com/perstack-go/perstack/store"
)

// Options are the settings of the command.
type Options struct {
	Jobs  *run.Options // of every job that is started
	Query string
	Plain bool
}

// New returns the command. runF, if set, is called instead of [Run].
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Jobs: &run.Options{Host: h}}
	if runF == nil {
		runF = Run
	}
	cmd := &cobra.Command{
		Use:   "start [expert] [query]",
		Short: "Talk to Experts on a full screen, and look through the history",
		Long: `Talk to Experts on a full screen: watch what they and their delegates do, answer their
questions, approve commands, attach files, look through earlier jobs, and branch from
any checkpoint, with the files as they were then.

With an Expert it begins with a conversation, and with a query the Expert begins at once.
Without one it shows the jobs of the project, or its Experts if there is no job yet.
--continue and --continue-job open a job.

F1 shows the keys, Ctrl-P lists all actions. Ctrl-C stops the job and saves it; Ctrl-C
again leaves and prints the command that returns to the job.

--plain only adds lines, for screen readers and for terminals that cannot draw. It is
also used if ACCESSIBLE=1 is set, if TERM is dumb, and if there is no terminal. There,
lines are read from standard input until it ends, nothing is approved, and the exit code
is that of the last job.

The other flags are settings of the jobs that you start, as in perstack run.`,
		Example: `  perstack start
  perstack start writer
  perstack start writer "Summarise notes.txt"
  perstack start --continue
  perstack start --continue-job r58p
  perstack start --plain`,
		Args: host.AtMost(2, func(args []string) error {
			return host.Usagef("too many arguments: expected an Expert and a query, got %d; put the query in quotes", len(args))
		}),
		ValidArgsFunction: complete.Expert(h, &opts.Jobs.Config),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := h.RefuseInJob(cmd); err != nil {
				return err
			}
			if len(args) > 0 {
				opts.Jobs.Expert = args[0]
			}
			if len(args) > 1 {
				opts.Query = args[1]
			}
			if err := opts.Jobs.ReadSettings(cmd); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	opts.Jobs.AddSettings(cmd)
	opts.Jobs.AddJob(cmd)
	cmd.Flags().BoolVar(&opts.Plain, "plain", false, "only add lines: for screen readers and simple terminals")
	return cmd
}

// Run shows the screen until the user leaves it.
func Run(ctx context.Context, o *Options) error {
	if why := o.whyPlain(); why != "" {
		return o.runPlain(ctx, why)
	}
	h := o.Jobs.Host
	in, out := h.Terminal()
	code, err := guard.Run(ctx, guard.Options{
		In: in, Out: out, Err: h.Stderr, Environ: h.Environ, Hint: h.Command + " start shows the jobs that can be resumed",
	}, func(ctx context.Context, hint func(string)) error { return o.runScreen(ctx, in, out, hint) })
	if err == nil && code != host.ExitOK {
		err = host.Exit(code)
	}
	return err
}

// whyPlain says why nothing is drawn; "" if it is.
func (o *Options) whyPlain() string {
	h := o.Jobs.Host
	accessible := h.Getenv("ACCESSIBLE")
	switch {
	case o.Plain:
		return "--plain is given"
	case accessible != "" && accessible != "0":
		return "ACCESSIBLE is set"
	case h.Getenv("TERM") == "dumb":
		return "TERM is dumb"
	case !h.StdinIsTerminal:
		return "standard input is not a terminal"
	case !h.StdoutIsTerminal:
		return "standard output is not a terminal"
	}
	return ""
}

// An entry is where a session begins.
type entry struct {
	project *project
	screen  tui.Entry
	expert  string
	job     string
}

// begin opens the project and finds where the session begins. What is wrong with the arguments is
// reported here, before anything is drawn.
func (o *Options) begin(ctx context.Context, n *notices) (entry, error) {
	jobs, e := o.Jobs, entry{screen: tui.EntryChat}
	var err error
	if jobs.Continue && jobs.ContinueJob != "" {
		return e, host.Usagef("--continue and --continue-job exclude each other; give one")
	}
	if err := jobs.Host.FetchConfig(ctx, &jobs.Config); err != nil {
		return e, err
	}
	if e.project, err = openProject(jobs, n); err != nil {
		return e, err
	}
	e.expert = jobs.Expert
	switch {
	case jobs.Continue || jobs.ContinueJob != "":
		if e.job, e.expert, err = e.project.find(ctx); err == nil && jobs.Expert != "" && jobs.Expert != e.expert {
			err = host.Usagef("job %s is of expert %s, not of %s; a query comes after the expert: perstack start %s <query>",
				e.job, e.expert, terminal.CleanLine(jobs.Expert), terminal.ShellJoin(e.expert))
		}
	case e.expert != "":
		err = e.project.checkExpert(e.expert)
	default:
		e.screen, err = e.project.firstScreen()
	}
	return e, err
}

// find returns the job that the flags name, and its Expert.
func (p *project) find(ctx context.Context) (jobID, expertKey string, err error) {
	if jobID, err = p.settings.FindJob(ctx, p.journals); err != nil {
		return "", "", err
	}
	info, err := store.FindJob(ctx, p.journals, jobID)
	return jobID, info.CoordinatorExpertKey, err
}

// firstScreen is the history, if there is one.
func (p *project) firstScreen() (tui.Entry, error) {
	has, err := p.journals.HasJobs()
	if has || err != nil {
		return tui.EntryHistory, err
	}
	_, err = p.host.Locate(p.settings.Config) // without it there is nothing to show
	return tui.EntryExperts, err
}

// runScreen shows the full screen. It runs in the process that has a guard.
func (o *Options) runScreen(ctx context.Context, in, out *os.File, hint func(string)) error {
	h, n := o.Jobs.Host, &notices{}
	e, err := o.begin(ctx, n)
	if err != nil {
		return err
	}
	e.project.hint = hint
	back := h.DivertStderr(n)
	result, err := tui.Run(ctx, tui.Options{
		Project: e.project, Name: e.project.name(), Workspace: e.project.workspace(), In: in, Out: out, Environ: h.Environ,
		Palette: paint.Palette{Color: h.Colors(), Unicode: h.UTF8()},
		Redact:  h.Secrets.Redact,
		Entry:   e.screen, Expert: e.expert, Query: o.Query, Job: e.job,
	})
	back()
	err = errors.Join(err, n.print(h.Stderr))
	return o.leave(ctx, e.project, result.Job, err)
}

// leave prints how to return to the job that was open.
func (o *Options) leave(ctx context.Context, p *project, jobID string, err error) error {
	if jobID != "" {
		_, printed := fmt.Fprintln(o.Jobs.Host.Stderr, "perstack: return to this job with: "+p.Resume(jobID))
		err = errors.Join(err, printed)
	}
	if err == nil {
		err = context.Cause(ctx) // a signal
	}
	return err
}

// runPlain works line by line.
func (o *Options) runPlain(ctx context.Context, why string) error {
	h := o.Jobs.Host
	e, err := o.begin(ctx, &notices{})
	if err != nil {
		return err
	}
	interrupts, back := interruptions()
	defer back()
	err = plain.Run(ctx, plain.Options{
		Project: e.project, Name: e.project.name(), Why: why,
		In: h.Stdin, Out: h.Plain(h.Stdout), Terminal: h.StdinIsTerminal && h.StdoutIsTerminal, Width: h.Width,
		Interrupts: interrupts, Redact: h.Secrets.Redact,
		Expert: e.expert, Query: o.Query, Job: e.job,
	})
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil && !h.StdinIsTerminal {
		// The session has told already what happened.
		err = host.Exit(host.ExitCode(e.project.lastOutcome()))
	}
	return err
}

// interruptions returns a channel with a value for each Ctrl-C, which would end the command otherwise.
func interruptions() (_ <-chan struct{}, back func()) {
	signals, pressed, done := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	signal.Reset(os.Interrupt)
	signal.Notify(signals, os.Interrupt)
	go func() {
		for {
			select {
			case <-signals:
			case <-done:
				return
			}
			select {
			case pressed <- struct{}{}:
			case <-done:
				return
			}
		}
	}()
	return pressed, func() {
		signal.Stop(signals)
		close(done)
	}
}
