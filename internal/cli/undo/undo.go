// Package undo is the command that takes the last run of a job back: its files, and its part of the
// conversation.
//
// Start reading at [New].
package undo

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/cli/files"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/internal/workspace/rewind"
	"github.com/perstack-go/perstack/job"
)

// Options are what the command works with.
type Options struct {
	Host   *host.Host
	Flags  files.Flags
	Job    string // empty for the newest
	DryRun bool
	Force  bool
}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "undo [job]",
		Short: "Undo the last run of a job",
		Long: `Undo the last run of a job, of the newest one by default. The files that the run changed
become what they were before it, and the job is continued from before it. Another undo
goes one run further back.

Files that the run did not change stay as they are. If you or another program changed a
file that the run changed, too, nothing is restored and all such files are listed;
--force restores them. The present state is stored first, and the last line of the
output says how to get it back.

What left the workspace cannot be undone: a push stays pushed. docs/rewind.md says what
is stored, and what is not.

Exit codes: 0, even if no file had to be restored; 1 if files cannot be restored; 2 for
a job that does not exist, or that has no run left to undo.`,
		Example: `  perstack undo
  perstack undo --dry-run         only say what would be restored
  perstack undo <job> --force     restore files that you changed since, too`,
		Args: host.AtMost(1, func(args []string) error {
			return host.Usagef("undo takes one job, but got %d arguments; perstack log lists the jobs", len(args))
		}),
		ValidArgsFunction: files.Complete(h, &opts.Flags, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := h.RefuseInJob(cmd); err != nil {
				return err
			}
			if len(args) > 0 {
				opts.Job = args[0]
			}
			return runF(cmd.Context(), opts)
		},
	}
	opts.Flags.Add(cmd, true)
	cmd.Flags().BoolVar(&opts.DryRun, "dry-run", false, "say what would be restored, and change nothing")
	cmd.Flags().BoolVar(&opts.Force, "force", false, "restore files that others changed, too")
	return cmd
}

func run(ctx context.Context, opts *Options) (err error) {
	j, err := files.Find(ctx, opts.Host, opts.Flags, opts.Job)
	if err != nil {
		return err
	}
	s, err := j.Open(ctx, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	start, ok := s.History.LastRun()
	if !ok {
		return host.Usagef("job %s has no run left to undo", j.ID)
	}
	if err := checkStored(s.History); err != nil {
		return err
	}
	out := opts.Host.Stdout
	what := describe(s.History, start)
	target, err := restore.BeforeRun(s.History, start)
	switch {
	case errors.Is(err, restore.ErrNoFiles): // it only read
		if _, err := fmt.Fprintf(out, "%s changed no files\n", what); err != nil {
			return err
		}
	case err != nil:
		return j.Explain(err)
	default:
		if err := undo(ctx, opts, j, s, target, what); err != nil {
			return err
		}
	}
	if opts.DryRun {
		return nil
	}
	head := ""
	if start.From != nil {
		head = start.From.CheckpointID
	}
	return s.Rewind(ctx, head)
}

// undo restores the files.
func undo(ctx context.Context, opts *Options, j *files.Job, s *restore.Session, target engine.FileState, what string) error {
	out := opts.Host.Stdout
	plan, err := s.Plan(ctx, target, rewind.Options{Force: opts.Force})
	if err != nil {
		return j.Explain(err)
	}
	report, err := files.NewReport(s, plan)
	if err != nil {
		return err
	}
	if err := j.Explain(plan.Check()); err != nil {
		return err
	}
	if err := report.Write(out, what+" changed"); err != nil || opts.DryRun || len(plan.Changes) == 0 {
		return err
	}
	result, err := files.Apply(ctx, s, plan)
	if err != nil {
		return j.Explain(err)
	}
	_, err = io.WriteString(out, j.Done(report, result))
	return err
}

// checkStored refuses a job that has stored no files because it was told not to. To take back the
// conversation alone would be half of what is asked for.
func checkStored(h *engine.History) error {
	spec, err := h.NewestSpec()
	if err == nil && spec.Snapshots.Mode == job.SnapshotsOff && len(h.Files()) == 0 {
		err = host.Usagef("job %s ran with snapshots off, so its files cannot be restored; perstack run --resume-from goes back in the conversation alone", h.Job.ID)
	}
	return err
}

// describe names a run by its query.
func describe(h *engine.History, start engine.RunStart) string {
	steps := 0
	if end, ok := h.Origin(""); ok {
		steps = end.State.StepNumber
	}
	if start.From != nil {
		if from, ok := h.At(start.From.CheckpointID); ok {
			steps -= from.State.StepNumber
		}
	}
	return fmt.Sprintf("run %q (%s)", wording.CutRunes(terminal.CleanLine(start.Task), 60, "…"), wording.Count(steps, "step"))
}
