// Package restore is the command that brings files back to a checkpoint or a snapshot of a job.
//
// Start reading at [New].
package restore

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/files"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/workspace/rewind"
)

// Options are what the command works with.
type Options struct {
	Host   *host.Host
	Flags  files.Flags
	Job    string
	Target string   // a checkpoint or a snapshot
	Paths  []string // empty for all

	DryRun, Force, Exact, KeepGit, Abort bool
}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "restore <job> <checkpoint|snapshot> [path...]",
		Short: "Bring files back to a checkpoint",
		Long: `Bring the files of a job back to what they were at a checkpoint or a snapshot. The
conversation stays as it is; perstack run --resume-from CHECKPOINT --restore-files goes
back with both. perstack log <job> shows the checkpoints. A snapshot has a name like
s12, which a restore prints. With paths, only these are restored.

Only files that the job changed are restored. If you or another program changed one of
them, too, nothing is restored and all such files are listed; --force restores them.
--exact makes every stored file what it was, including those that the job did not
change. The present state is stored first, and the last line of the output says how to
get it back.

git goes back as well: HEAD, branches, index, configuration and hooks. A commit that
loses its last branch is kept as refs/perstack/kept/<job>-<n>. --keep-git leaves all of
.git as it is. While a git command runs, or a job in the workspace, nothing is restored.

If a restore is interrupted, the next command in the workspace finishes it. --abort
takes it back instead, to the state before it began.

Exit codes: 0, even if no file had to be restored; 1 if files cannot be restored; 2 for
a job, a checkpoint or a snapshot that does not exist.`,
		Example: `  perstack restore <job> <checkpoint>
  perstack restore <job> <checkpoint> src/main.go
  perstack restore <job> s12              take an earlier restore back
  perstack restore <job> <checkpoint> --dry-run
  perstack restore <job> --abort          take back a restore that was interrupted`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case opts.Abort && len(args) != 1:
				return host.Usagef("--abort takes the job alone")
			case !opts.Abort && len(args) < 2:
				return host.Usagef("name a job, and a checkpoint or a snapshot of it; perstack log lists the jobs, and perstack log <job> the checkpoints of one")
			}
			return nil
		},
		ValidArgsFunction: files.Complete(h, &opts.Flags, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := h.RefuseInJob(cmd); err != nil {
				return err
			}
			opts.Job = args[0]
			if opts.Abort {
				for _, flag := range []string{"dry-run", "force", "exact", "keep-git"} {
					if cmd.Flags().Changed(flag) {
						return host.Usagef("--abort does not go with --%s", flag)
					}
				}
			} else {
				opts.Target, opts.Paths = args[1], args[2:]
			}
			return runF(cmd.Context(), opts)
		},
	}
	opts.Flags.Add(cmd, true)
	flags := cmd.Flags()
	flags.BoolVar(&opts.DryRun, "dry-run", false, "say what would be restored, and change nothing")
	flags.BoolVar(&opts.Force, "force", false, "restore files that others changed, too")
	flags.BoolVar(&opts.Exact, "exact", false, "restore every stored file, including those that the job did not change")
	flags.BoolVar(&opts.KeepGit, "keep-git", false, "leave .git as it is")
	flags.BoolVar(&opts.Abort, "abort", false, "take back a restore that was interrupted")
	return cmd
}

func run(ctx context.Context, opts *Options) (err error) {
	h := opts.Host
	j, err := files.Find(ctx, h, opts.Flags, opts.Job)
	if err != nil {
		return err
	}
	s, err := j.Open(ctx, opts.Abort)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if opts.Abort {
		_, err := fmt.Fprintln(h.Stdout, "the restore was taken back: the files are as before it")
		return err
	}
	target, err := restore.Find(s.History, opts.Target)
	if err != nil {
		return j.Explain(err)
	}
	paths, err := files.Paths(h, s.Workspace, opts.Paths)
	if err != nil {
		return err
	}
	plan, err := s.Plan(ctx, target, rewind.Options{Paths: paths, Force: opts.Force, Exact: opts.Exact, KeepGit: opts.KeepGit})
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
	what := "since " + restore.Name(target) + ", the job changed"
	if opts.Exact {
		what = "different from " + restore.Name(target) + ":"
	}
	if err := report.Write(h.Stdout, what); err != nil || opts.DryRun || len(plan.Changes) == 0 {
		return err
	}
	result, err := files.Apply(ctx, s, plan)
	if err != nil {
		return j.Explain(err)
	}
	_, err = io.WriteString(h.Stdout, j.Done(report, result))
	return err
}
