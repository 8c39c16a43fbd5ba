package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/files"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/wording"
)

// PruneOptions are what prune works with.
type PruneOptions struct {
	Host  *host.Host
	Flags files.Flags

	Older  time.Duration // since the job last changed
	Keep   int           // so many of the newest jobs
	DryRun bool
	Yes    bool
}

func newPrune(h *host.Host, runF func(context.Context, *PruneOptions) error) *cobra.Command {
	opts := &PruneOptions{Host: h}
	if runF == nil {
		runF = prune
	}
	older := ""
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Delete old jobs",
		Long: `Delete jobs that have not changed for a time, but for so many of the newest: --older says how
long, --keep how many. With both, a job goes that is older and not among those that are kept.
At least one of them is needed.

A job is as old as its last change. Jobs that are running stay, and so do jobs that cannot
be read: perstack jobs rm deletes those. --dry-run only lists what would be deleted.

On a terminal you are asked first. Elsewhere, --yes is needed. What goes with a job is the
same as with perstack jobs rm.`,
		Example: `  perstack jobs prune --older 30d --keep 20
  perstack jobs prune --older 12h --dry-run
  perstack jobs prune --keep 100 --yes`,
		Args:              host.NoArgs("perstack jobs rm deletes the jobs that you name"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if err := h.RefuseInJob(cmd); err != nil {
				return err
			}
			if !cmd.Flags().Changed("older") && !cmd.Flags().Changed("keep") {
				return host.Usagef("say which jobs to delete: --older 30d, --keep 20, or both")
			}
			if older != "" {
				if opts.Older, err = parseAge(older); err != nil {
					return host.Usagef("--older: %w", err)
				}
			}
			if opts.Keep < 0 {
				return host.Usagef("--keep must not be negative, but is %d", opts.Keep)
			}
			return runF(cmd.Context(), opts)
		},
	}
	opts.Flags.Add(cmd, false)
	cmd.Flags().StringVar(&older, "older", "", "only jobs that have not changed for this time, such as 12h, 30d or 8w")
	cmd.Flags().IntVar(&opts.Keep, "keep", 0, "keep so many of the newest jobs, whatever their age")
	cmd.Flags().BoolVar(&opts.DryRun, "dry-run", false, "list the jobs that would be deleted, and delete none")
	addYes(cmd, &opts.Yes)
	return cmd
}

// parseAge reads a number with a unit: s, m, h, d or w.
func parseAge(text string) (time.Duration, error) {
	const hint = "write a number and a unit: 12h, 30d or 8w"
	if text == "" {
		return 0, errors.New(hint)
	}
	units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour, 'w': 7 * 24 * time.Hour}
	unit, known := units[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 31)
	if !known || err != nil || n == 0 || strings.HasPrefix(text, "+") {
		return 0, fmt.Errorf("%s is not an age; %s", wording.Quote(text), hint)
	}
	const most = 100 * 365 * 24 * time.Hour
	if n > uint64(most/unit) {
		return 0, fmt.Errorf("%s is more than 100 years", wording.Quote(text))
	}
	return time.Duration(n) * unit, nil
}

func prune(ctx context.Context, opts *PruneOptions) error {
	h := opts.Host
	place, journals, err := opts.Flags.Open(h)
	if err != nil {
		return err
	}
	page, err := history.List(ctx, []history.Source{{Store: journals}}, 0, 0)
	if err != nil {
		return err
	}
	old, unread := opts.choose(page.Jobs)
	if unread > 0 {
		fmt.Fprintf(h.Stderr, "perstack: kept %s that cannot be read; perstack jobs says why, and perstack jobs rm deletes a job that you name\n", wording.Count(unread, "job"))
	}
	if len(old) == 0 {
		_, err := fmt.Fprintln(h.Stdout, "nothing to delete")
		return err
	}
	if opts.DryRun {
		return opts.show(old)
	}
	_, err = deleteJobs(ctx, h, opts.Yes, "jobs prune deletes jobs for good; --dry-run lists them", old, place, journals)
	return err
}

// choose returns the jobs that are to go, oldest first, and how many cannot be read.
func (o *PruneOptions) choose(all []history.Entry) (old []history.Entry, unread int) {
	var jobs []history.Entry
	for _, e := range all {
		if e.Err != nil {
			unread++
			continue
		}
		jobs = append(jobs, e)
	}
	slices.SortStableFunc(jobs, func(a, b history.Entry) int { return cmp.Compare(a.Info.UpdatedAt, b.Info.UpdatedAt) })
	now := o.Host.Source.Now()
	for _, e := range jobs[:max(len(jobs)-o.Keep, 0)] {
		if o.Older == 0 || now.Sub(time.UnixMilli(e.Info.UpdatedAt)) > o.Older {
			old = append(old, e)
		}
	}
	return old, unread
}

// show lists what would be deleted.
func (o *PruneOptions) show(old []history.Entry) error {
	h := o.Host
	var rows []row
	for _, e := range old {
		if e.Running() {
			sayRunning(h, e.Info.ID)
			continue
		}
		rows = append(rows, row{Entry: e})
	}
	if err := writeRows(h.Stdout, rows, h.Source.Now(), h.Width); err != nil {
		return err
	}
	_, err := fmt.Fprintf(h.Stdout, "\nwould delete %s\n", wording.Count(len(rows), "job"))
	return err
}
