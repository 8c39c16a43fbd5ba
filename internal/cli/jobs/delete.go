package jobs

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/files"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/wording"
)

// DeleteOptions are what delete works with.
type DeleteOptions struct {
	Host  *host.Host
	Flags files.Flags
	Jobs  []string
}

func newDelete(h *host.Host, runF func(context.Context, *DeleteOptions) error) *cobra.Command {
	opts := &DeleteOptions{Host: h}
	if runF == nil {
		runF = deleteJobs
	}
	cmd := &cobra.Command{
		Use:   "delete <job>...",
		Short: "Delete jobs, and the files that are stored for them",
		Long: `Delete jobs: their records, and the states of the workspace that only they need. The files
in the workspace stay as they are. What is deleted cannot be brought back, and what such
a job changed cannot be undone any more.

A job that is running is not deleted. While another job of the project is running, stored
files are not removed; that is done when jobs are deleted later.`,
		Example: `  perstack jobs delete <job>
  perstack jobs delete <job> <job>`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return host.Usagef("name the jobs that you want to delete; perstack log lists them")
			}
			return nil
		},
		ValidArgsFunction: files.Complete(h, &opts.Flags, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := h.RefuseInJob(cmd); err != nil {
				return err
			}
			opts.Jobs = args
			return runF(cmd.Context(), opts)
		},
	}
	opts.Flags.Add(cmd, false)
	return cmd
}

func deleteJobs(ctx context.Context, opts *DeleteOptions) error {
	var jobs []*files.Job
	for _, id := range opts.Jobs { // all must exist before one is deleted
		j, err := files.Find(ctx, opts.Host, opts.Flags, id)
		if err != nil {
			return err
		}
		jobs = append(jobs, j)
	}
	for _, j := range jobs {
		if err := j.Delete(ctx); err != nil {
			return fmt.Errorf("delete job %s: %w", j.ID, err)
		}
		if _, err := fmt.Fprintf(opts.Host.Stdout, "deleted job %s\n", j.ID); err != nil {
			return err
		}
	}
	free, err := restore.Collect(ctx, jobs[0].Store, jobs[0].Files, opts.Host.Source.Now())
	if err != nil || free == 0 {
		return err
	}
	_, err = fmt.Fprintf(opts.Host.Stdout, "removed %s of stored files\n", wording.Bytes(free))
	return err
}
