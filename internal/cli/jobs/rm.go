package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/files"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/store/file"
)

// RemoveOptions are what rm works with.
type RemoveOptions struct {
	Host  *host.Host
	Flags files.Flags
	Jobs  []string
	Yes   bool
}

func newRemove(h *host.Host, runF func(context.Context, *RemoveOptions) error) *cobra.Command {
	opts := &RemoveOptions{Host: h}
	if runF == nil {
		runF = remove
	}
	cmd := &cobra.Command{
		Use:   "rm <job>...",
		Short: "Delete jobs, and the files that are stored for them",
		Long: `Delete jobs: their records, and the states of the workspace that only they need. The files
in the workspace stay as they are. What is deleted cannot be brought back, and what such
a job changed cannot be undone any more. perstack jobs export keeps a copy.

On a terminal you are asked first. Elsewhere, --yes is needed. A job that is running is not
deleted, and the exit code is 1. While another job of the project is running, stored files
are not removed; that is done when jobs are deleted later.

deleted.jsonl in the directory of the history notes the id of each deleted job and the hash
of its last record.`,
		Example: `  perstack jobs rm <job>
  perstack jobs rm <job> <job> --yes`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return host.Usagef("name the jobs that you want to delete; perstack jobs lists them")
			}
			return nil
		},
		ValidArgsFunction: completeJobs(h, &opts.Flags),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := h.RefuseInJob(cmd); err != nil {
				return err
			}
			opts.Jobs = args
			return runF(cmd.Context(), opts)
		},
	}
	opts.Flags.Add(cmd, false)
	addYes(cmd, &opts.Yes)
	return cmd
}

func addYes(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "delete without asking")
}

// completeJobs offers jobs for every argument.
func completeJobs(h *host.Host, f *files.Flags) cobra.CompletionFunc {
	offer := files.Complete(h, f, 1)
	return func(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
		offers, directive := offer(cmd, nil, start)
		return slices.DeleteFunc(offers, func(c cobra.Completion) bool {
			id, _, _ := strings.Cut(c, "\t")
			return slices.Contains(args, id)
		}), directive
	}
}

func remove(ctx context.Context, opts *RemoveOptions) error {
	h := opts.Host
	place, journals, err := opts.Flags.Open(h)
	if err != nil {
		return err
	}
	var jobs []history.Entry
	for _, text := range opts.Jobs { // all must exist before one is deleted
		id, err := host.FindJob(ctx, journals, text, "perstack jobs lists them")
		if err != nil {
			return err
		}
		if slices.ContainsFunc(jobs, func(e history.Entry) bool { return e.Info.ID == id }) {
			continue
		}
		info, err := journals.FindJob(ctx, id) // a damaged job can be deleted, too
		info.ID = id
		jobs = append(jobs, history.Entry{Info: info, Prefix: id, Err: err})
	}
	deleted, err := deleteJobs(ctx, h, opts.Yes, "jobs rm deletes jobs for good", jobs, place, journals)
	if err == nil && len(deleted.Running) > 0 {
		err = host.Exit(host.ExitFailure) // which were skipped was said
	}
	return err
}

// mostShown is how many jobs are named in a question.
const mostShown = 10

// deleteJobs asks whether jobs are to be deleted, deletes them and says so.
func deleteJobs(ctx context.Context, h *host.Host, yes bool, what string, jobs []history.Entry, place host.History, journals *file.Store) (deleted restore.Deleted, err error) {
	var ids []string
	var rows []row
	for _, e := range jobs {
		if e.Running() {
			sayRunning(h, e.Info.ID)
			deleted.Running = append(deleted.Running, e.Info.ID)
			continue
		}
		ids, rows = append(ids, e.Info.ID), append(rows, row{Entry: e})
	}
	if len(ids) == 0 {
		return deleted, nil
	}
	if !yes && h.CanConfirm() {
		if err := writeRows(h.Stderr, rows[:min(len(rows), mostShown)], h.Source.Now(), h.Width); err != nil {
			return deleted, err
		}
		if more := len(rows) - mostShown; more > 0 {
			fmt.Fprintf(h.Stderr, "... and %s\n", wording.Count(more, "other job"))
		}
	}
	if err := h.Agree(ctx, yes, what, fmt.Sprintf("Delete %s? What is deleted cannot be brought back.", wording.Count(len(ids), "job"))); err != nil {
		return deleted, err
	}
	done, err := restore.Delete(ctx, journals, place.Files(), h.Source.Now(), ids...)
	for _, id := range done.Running { // it was started meanwhile
		sayRunning(h, id)
	}
	done.Running = append(deleted.Running, done.Running...)
	var text strings.Builder
	for _, id := range done.Jobs {
		fmt.Fprintf(&text, "deleted job %s\n", terminal.CleanLine(id))
	}
	if done.Free > 0 {
		fmt.Fprintf(&text, "removed %s of stored files\n", wording.Bytes(done.Free))
	}
	_, printed := fmt.Fprint(h.Stdout, text.String())
	return done, errors.Join(err, printed)
}

func sayRunning(h *host.Host, id string) {
	fmt.Fprintf(h.Stderr, "perstack: job %s is running, and is not deleted\n", terminal.CleanLine(id))
}
