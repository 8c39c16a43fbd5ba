package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/answers"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/run"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/store"
)

// AnswerOptions are what approve and deny work with.
type AnswerOptions struct {
	Source
	Job    string
	Calls  []string
	Allow  bool
	Scope  string // of an answer that allows
	Wide   bool   // it is about the program and its subcommand
	Reason string // of one that denies
	Resume bool   // the job
	JSON   bool
}

// NewApprove returns the command approve. Tests hand in a runF to see the options.
func NewApprove(h *host.Host, runF func(context.Context, *AnswerOptions) error) *cobra.Command {
	opts := &AnswerOptions{Source: Source{Host: h}, Allow: true}
	cmd := newAnswer(opts, runF, &cobra.Command{
		Use:   "approve <job> <call>...",
		Short: "Allow tool calls that wait for your permission",
		Long: `Allow tool calls that wait for your permission. perstack approvals lists them. A call is
named by its id or the beginning of it.

Your answer is about the call as it was asked: its arguments, its program, the files that
it names. If one of them changes before the call starts, you are asked again. The first
answer counts; a second one exits with 1.

--for says how long the answer holds: once, for equal calls of this Expert in this job, in
this project, or always. With --wide, an answer for the project or for always holds for the
program and its subcommand, such as git push, whatever follows. The job continues with --resume, or when you call perstack run
--continue-job. If it is running, it continues by itself.`,
		Example: `  perstack approve JOB CALL
  perstack approve JOB CALL --resume
  perstack approve JOB CALL1 CALL2 --for job
  perstack approve JOB CALL --for project --wide`,
	})
	cmd.Flags().StringVar(&opts.Scope, "for", event.ScopeOnce, "how long the answer holds: once, job, project or always")
	if err := cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(scopes, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag is defined above
	}
	cmd.Flags().BoolVar(&opts.Wide, "wide", false, "allow the program and its subcommand with any words, with --for project or always")
	return cmd
}

var scopes = []string{event.ScopeOnce, event.ScopeJob, event.ScopeProject, event.ScopeAlways}

// NewDeny returns the command deny. Tests hand in a runF to see the options.
func NewDeny(h *host.Host, runF func(context.Context, *AnswerOptions) error) *cobra.Command {
	opts := &AnswerOptions{Source: Source{Host: h}}
	cmd := newAnswer(opts, runF, &cobra.Command{
		Use:   "deny <job> <call>...",
		Short: "Refuse tool calls that wait for your permission",
		Long: `Refuse tool calls that wait for your permission. perstack approvals lists them. A call is
named by its id or the beginning of it.

The model is told that you refused, and your reason, so that it can do something else. The
first answer counts; a second one exits with 1. A job stops when 10 calls of one of its
runs were refused.`,
		Example: `  perstack deny JOB CALL --reason "use staging"
  perstack deny JOB CALL1 CALL2 --resume`,
	})
	cmd.Flags().StringVar(&opts.Reason, "reason", "", "why, for the model")
	return cmd
}

// newAnswer adds what both commands have.
func newAnswer(opts *AnswerOptions, runF func(context.Context, *AnswerOptions) error, cmd *cobra.Command) *cobra.Command {
	if runF == nil {
		runF = answer
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) < 2 {
			return host.Usagef("%s needs a job and a call; %s approvals lists them", cmd.Name(), opts.Host.Command)
		}
		return nil
	}
	cmd.ValidArgsFunction = opts.complete(true)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := host.RefuseRemote(opts.Config); err != nil {
			return err
		}
		if opts.Allow && !slices.Contains(scopes, opts.Scope) {
			return host.Usagef("--for is %q; choose from %s", opts.Scope, strings.Join(scopes, ", "))
		}
		if err := opts.Host.RefuseInJob(cmd); err != nil {
			return err
		}
		opts.Job, opts.Calls = args[0], args[1:]
		return runF(cmd.Context(), opts)
	}
	opts.addFlags(cmd)
	cmd.Flags().BoolVar(&opts.Resume, "resume", false, "resume the job afterwards")
	cmd.Flags().BoolVar(&opts.JSON, "json", false, "print one answer on each line, as JSON")
	return cmd
}

// answer records the answers, or hands them to the process that runs the job.
func answer(ctx context.Context, opts *AnswerOptions) error {
	history, jobs, err := opts.open()
	if err != nil {
		return err
	}
	j, err := opts.load(ctx, jobs, opts.Job)
	if err != nil {
		return err
	}
	picked, err := j.pick(opts.Calls)
	if err == nil {
		err = opts.checkScope(picked)
	}
	if err != nil {
		return err
	}
	running, err := opts.record(ctx, history, jobs, j, picked)
	if err != nil {
		return opts.explainSeal(asFailure(err))
	}
	if err := opts.remember(ctx, j.id, picked); err != nil {
		return fmt.Errorf("the call is allowed for this job, but the answer could not be stored: %w", err)
	}
	if err := opts.print(j, picked, running); err != nil || running || !opts.Resume {
		return err
	}
	return run.Resume(ctx, opts.Host, j.id, opts.Config, opts.Storage)
}

// asFailure gives an answer that does not count its exit code.
func asFailure(err error) error {
	if wrong, ok := errors.AsType[*engine.AnswerError](err); ok {
		return wrong
	}
	return err
}

// checkScope refuses an answer that cannot hold for as long as the user wants.
func (o *AnswerOptions) checkScope(picked []engine.WaitingCall) error {
	stored := o.Scope == event.ScopeProject || o.Scope == event.ScopeAlways
	switch {
	case o.Wide && !stored:
		return host.Usagef("--wide is for answers that are stored; add --for project or --for always")
	case !o.Allow || o.Scope == event.ScopeOnce:
		return nil
	}
	for _, w := range picked {
		if _, ok := host.Wider(asked(w)); o.Wide && !ok {
			return host.Usagef("call %s is no command with a subcommand, or it can run other programs, so --wide cannot allow it; leave it out", terminal.CleanLine(w.Call.ID))
		}
		if w.Request.Once {
			return host.Usagef("call %s has to be asked about each time, so it cannot be allowed for longer; leave out --for", terminal.CleanLine(w.Call.ID))
		}
	}
	return nil
}

// remember stores answers that hold longer than the job.
func (o *AnswerOptions) remember(ctx context.Context, jobID string, picked []engine.WaitingCall) error {
	if !o.Allow || o.Scope != event.ScopeProject && o.Scope != event.ScopeAlways {
		return nil
	}
	dir, err := o.Host.ProjectDir(o.Config, o.Host.Dir)
	if err != nil {
		return err
	}
	stored, err := o.Host.Grants(dir, o.Host.Dir)
	if err != nil {
		return err
	}
	for _, w := range picked {
		if err := stored.Remember(ctx, o.Scope, jobID, asked(w), o.Wide); err != nil {
			return err
		}
	}
	return nil
}

const (
	// stopLimit is how long a job that is about to stop is waited for. In Docker, its container is
	// removed meanwhile.
	stopLimit = 30 * time.Second
	stopPause = 50 * time.Millisecond
)

// record records the answers. running says that another process runs the job and has them now. A job
// that is about to stop takes none: they are recorded as soon as it has stopped.
func (o *AnswerOptions) record(ctx context.Context, history host.History, jobs store.Sealing, j jobCalls, picked []engine.WaitingCall) (running bool, err error) {
	var all []engine.RunAnswer
	for _, w := range picked {
		b := event.ApprovalAnswered{ToolCallID: w.Call.ID, Digest: w.Request.Digest, Allow: o.Allow, By: event.ByUser, Reason: o.Reason}
		if o.Allow {
			b.Scope = o.Scope
		}
		all = append(all, engine.RunAnswer{RunID: w.RunID, ApprovalAnswered: b})
	}
	sealer, err := history.Sealer()
	if err != nil {
		return false, err
	}
	if sealer == nil {
		return false, host.Usagef("whether this user sealed job %s is not known, because the home directory is not known; set HOME", j.id)
	}
	ctx, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	for unheard := 0; ; {
		err := engine.RecordAnswers(ctx, jobs.WithSeal(sealer), o.Host.Source, j.id, all)
		if !errors.Is(err, store.ErrLocked) {
			return false, err
		}
		var sent error
		for len(all) > 0 && sent == nil {
			if sent = answers.Send(ctx, history.Project.State, history.Dir, j.id, all[0]); sent == nil {
				all = all[1:]
			}
		}
		wrong, ok := errors.AsType[*engine.AnswerError](sent)
		switch {
		case errors.Is(sent, answers.ErrNotRunning) && unheard > 0:
			return true, &host.ExitError{Code: host.ExitFailure, Err: err}
		case errors.Is(sent, answers.ErrNotRunning): // it can have ended just now
			unheard++
		case !ok || !wrong.Stopping:
			return true, sent
		}
		select {
		case <-time.After(stopPause):
		case <-ctx.Done():
			return true, sent
		}
	}
}

// print says what was answered, and how the job continues.
func (o *AnswerOptions) print(j jobCalls, picked []engine.WaitingCall, running bool) error {
	out := &strings.Builder{}
	verb := "Denied"
	if o.Allow {
		verb = "Allowed"
	}
	for _, w := range picked {
		if o.JSON {
			out.WriteString(encode(struct {
				Job    string `json:"job"`
				Run    string `json:"run"`
				Call   string `json:"call"`
				Digest string `json:"digest"`
				Allow  bool   `json:"allow"`
				Scope  string `json:"scope,omitzero"`
			}{j.id, w.RunID, w.Call.ID, w.Request.Digest, o.Allow, o.Scope}))
			continue
		}
		fmt.Fprintf(out, "%s %s  %s\n", verb, terminal.ShowLine(w.Call.ID), brief(w))
	}
	if !o.JSON && !running && !o.Resume {
		if left := len(j.calls) - len(picked); left > 0 {
			fmt.Fprintf(out, "%d of job %s still wait; see: %s approvals %s\n", left, j.id, o.Host.Command, j.id)
		} else {
			fmt.Fprintf(out, "Resume the job with: %s run --continue-job %s\n", o.Host.Command, j.id)
		}
	}
	_, err := fmt.Fprint(o.Host.Stdout, o.Host.Secrets.Redact(out.String()))
	return err
}
