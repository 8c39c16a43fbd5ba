package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/files"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/terminal"
)

// ListOptions are what list works with.
type ListOptions struct {
	Host  *host.Host
	Flags files.Flags

	JSON   bool
	Take   int // 0 for all
	Offset int
}

const defaultTake = 20

// add adds the flags of the list to a command, and makes it list jobs.
func (o *ListOptions) add(cmd *cobra.Command, runF func(context.Context, *ListOptions) error) {
	if runF == nil {
		runF = list
	}
	o.Flags.Add(cmd, false)
	cmd.Flags().BoolVar(&o.JSON, "json", false, "print one job a line, as JSON")
	cmd.Flags().IntVarP(&o.Take, "take", "n", defaultTake, "how many of the newest jobs to show; 0 means all")
	cmd.Flags().IntVar(&o.Offset, "offset", 0, "how many of the newest jobs to skip")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cmd.Args(cmd, args); err != nil { // also if --help was given with a wrong command
			return err
		}
		for name, n := range map[string]int{"take": o.Take, "offset": o.Offset} {
			if n < 0 {
				return host.Usagef("--%s must not be negative, but is %d", name, n)
			}
		}
		return runF(cmd.Context(), o)
	}
}

func newList(h *host.Host, runF func(context.Context, *ListOptions) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the jobs of the project, newest first",
		Long: `List the jobs of the project, newest first: the beginning of the id that names the job, its
Expert, its status, its steps, what it cost, when it last changed, and the beginning of the
query.

The cost is computed with the prices of perstack.toml and the list prices. It is "-" if a model
has no known price. perstack log lists jobs with their whole ids, times and tokens, and with
--all those of all projects.`,
		Example: `  perstack jobs list
  perstack jobs list -n 100
  perstack jobs list --json | jq -r .id`,
		Args:              host.NoArgs("perstack log <job> explains a job"),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	(&ListOptions{Host: h}).add(cmd, runF)
	return cmd
}

func list(ctx context.Context, opts *ListOptions) error {
	h := opts.Host
	_, journals, err := opts.Flags.Open(h)
	if err != nil {
		return err
	}
	page, err := history.List(ctx, []history.Source{{Store: journals}}, opts.Offset, opts.Take)
	if err != nil {
		return err
	}
	rows, unreadable := check(ctx, h, page.Jobs)
	switch {
	case opts.JSON:
		err = listJSON(h, rows)
	case page.Total == 0:
		_, err = fmt.Fprintln(h.Stdout, "No jobs in this project yet. perstack log --all lists those of all projects.")
	default:
		err = opts.print(rows, page.Total)
	}
	if err == nil && unreadable != nil {
		err = &host.ExitError{Code: host.ExitFailure, Err: unreadable}
	}
	return err
}

// check looks at the seals of jobs. The error says which of them cannot be read, and why; those of the
// original Perstack are none of it.
func check(ctx context.Context, h *host.Host, jobs []history.Entry) (rows []row, unreadable error) {
	sealer, err := h.Verifier()
	if err != nil {
		sealer = nil // without a state directory there is no key
	}
	for _, e := range jobs {
		if e.Err != nil && !history.IsOriginal(e.Err) {
			unreadable = errors.Join(unreadable, e.Err)
		}
		rows = append(rows, row{e, e.CheckSeal(ctx, sealer)})
	}
	return rows, unreadable
}

func (o *ListOptions) print(rows []row, total int) error {
	h := o.Host
	if len(rows) > 0 {
		if err := writeRows(h.Stdout, rows, h.Source.Now(), h.Width); err != nil {
			return err
		}
	}
	if len(rows) < total {
		if _, err := fmt.Fprintf(h.Stdout, "\n(%d of %d jobs; -n 0 shows all, --offset skips the newest)\n", len(rows), total); err != nil {
			return err
		}
	}
	for _, r := range rows {
		if r.seal != nil {
			fmt.Fprintf(h.Stderr, "perstack: a job whose seal is missing or wrong may have been changed by another program; to find out, run: %s log %s --verify\n", h.Command, terminal.CleanLine(r.Prefix))
			break
		}
	}
	return nil
}

// listJSON prints one job a line. One that cannot be read is left to the error.
func listJSON(h *host.Host, rows []row) error {
	out := event.NewWriter(h.Stdout)
	for _, r := range rows {
		if r.Err != nil {
			continue
		}
		line := struct {
			Prefix string    `json:"prefix"`
			Cost   *float64  `json:"cost,omitzero"` // in US dollars; absent if it is not known
			Seal   string    `json:"seal,omitzero"` // what is wrong with it
			Job    event.Job `json:",embed"`
		}{Prefix: r.Prefix, Job: r.Info.Job}
		line.Job.Status, line.Job.Open = r.Status(), nil
		if dollars, known := r.Cost(); known {
			line.Cost = &dollars
		}
		if r.seal != nil {
			line.Seal = r.seal.Error()
		}
		data, err := json.Marshal(line, json.Deterministic(true))
		if err != nil {
			return err
		}
		if err := out.WriteLine(data); err != nil {
			return err
		}
	}
	return nil
}
