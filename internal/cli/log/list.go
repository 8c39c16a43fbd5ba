package log

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/store"
)

// A listedJob is a job in the list, and what is wrong with its seals.
type listedJob struct {
	history.Entry
	seal error
}

// list prints the jobs, newest first. Jobs that cannot be read are named in their
// place, and the reasons are the error in the end.
func list(ctx context.Context, opts *Options, s store.Store) error {
	sealer, err := opts.verifier()
	if err != nil {
		sealer = nil // without a state directory there is no key
	}
	page, err := history.List(ctx, sources(s), opts.Offset, opts.Take)
	if err != nil {
		return err
	}
	var jobs []listedJob
	var unreadable []error
	originals, wrong := 0, ""
	for _, e := range page.Jobs {
		job := listedJob{e, e.CheckSeal(ctx, sealer)}
		switch {
		case history.IsOriginal(e.Err):
			originals++
		case e.Err != nil && e.Source.Project != "":
			unreadable = append(unreadable, fmt.Errorf("%s: %w", e.Source.Project, e.Err))
		case e.Err != nil:
			unreadable = append(unreadable, e.Err)
		case job.seal != nil && wrong == "":
			wrong = e.Info.ID
		}
		jobs = append(jobs, job)
	}
	switch {
	case opts.JSON:
		err = listJSON(opts.Host.Stdout, jobs)
	case page.Total == 0:
		err = opts.nothing()
	default:
		err = listText(opts, jobs, page.Total)
	}
	if originals > 0 {
		opts.tellOriginals(originals)
	}
	if wrong != "" && !opts.JSON && err == nil {
		fmt.Fprintf(opts.Host.Stderr, "perstack: a job whose seal is missing or wrong may have been changed by another program; to find out, run: %s log %s --verify\n", opts.command(), terminal.CleanLine(wrong))
	}
	if err == nil && len(unreadable) > 0 {
		err = &host.ExitError{Code: host.ExitFailure, Err: errors.Join(unreadable...)}
	}
	return err
}

// listJSON prints one job a line. A job that cannot be read is left to the error.
func listJSON(w io.Writer, jobs []listedJob) error {
	out := event.NewWriter(w)
	for _, job := range jobs {
		if job.Err != nil {
			continue
		}
		info := job.Info
		info.Status = info.CurrentStatus()
		line := struct {
			Project string    `json:"project,omitzero"` // with --all
			Seal    string    `json:"seal,omitzero"`    // what is wrong with it
			Job     event.Job `json:",embed"`
		}{Project: job.Source.Project, Job: info.Job}
		if job.seal != nil {
			line.Seal = job.seal.Error()
		}
		if err := writeJSON(out, line); err != nil {
			return err
		}
	}
	return nil
}

func listText(opts *Options, jobs []listedJob, total int) error {
	w, now := opts.Host.Stdout, opts.Host.Source.Now()
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	var rows [][]string
	title := "JOB\tSTATUS\tEXPERT\tSTEPS\tSTARTED (UTC)\tDURATION\tTOKENS"
	if opts.All {
		title += "\tPROJECT"
	}
	fmt.Fprintln(table, title)
	for _, job := range jobs {
		info := job.Info
		info.Status = job.Status()
		status := string(info.Status)
		if info.Imported != nil {
			status += " (imported)"
		}
		status += history.SealNote(job.seal)
		columns := []string{info.ID, status, info.CoordinatorExpertKey, "-", "-", duration(info, now), "-"}
		if info.StartedAt > 0 {
			columns[3] = strconv.Itoa(info.TotalSteps)
			columns[4] = timestamp(info.StartedAt)
			columns[6] = strconv.Itoa(info.Usage.TotalTokens)
		}
		if opts.All {
			columns = append(columns, job.Source.Project)
		}
		for i := range columns {
			if columns[i] = terminal.CleanLine(columns[i]); columns[i] == "" {
				columns[i] = "-"
			}
		}
		rows = append(rows, columns)
		fmt.Fprintln(table, strings.Join(columns, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if !fits(text.String(), opts.Host.Width) {
		text.Reset()
		listNarrow(&text, rows, opts.Host.Width)
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return err
	}
	if len(jobs) < total {
		_, err := fmt.Fprintf(w, "\n(showing %d of %d jobs; --take 0 shows all, --offset skips the newest)\n", len(jobs), total)
		return err
	}
	return nil
}

// fits reports whether a terminal shows every line of a text in one row; 0 is no terminal.
func fits(text string, width int) bool {
	for line := range strings.Lines(text) {
		if width > 0 && columns.Of(strings.TrimSuffix(line, "\n")) > width {
			return false
		}
	}
	return true
}

// listNarrow writes what the table says about jobs without its columns.
func listNarrow(w io.Writer, rows [][]string, width int) {
	for _, row := range rows {
		rest := slices.Clone(row[1:])
		rest[2], rest[3], rest[5] = "steps "+rest[2], rest[3]+" UTC", "tokens "+rest[5]
		fmt.Fprintln(w, row[0])
		for _, line := range columns.Wrap(strings.Join(rest, ", "), max(width-2, 1)) {
			fmt.Fprintln(w, "  "+line)
		}
	}
}

// duration says how long a job took, or has been running. For one that is neither
// finished nor alive, the newest event is the last that is known.
func duration(info store.JobInfo, now time.Time) string {
	end := time.UnixMilli(info.UpdatedAt)
	switch {
	case info.StartedAt == 0:
		return "-"
	case info.FinishedAt > 0:
		end = time.UnixMilli(info.FinishedAt)
	case info.Status == event.JobRunning && !info.Interrupted:
		end = now
	}
	d := end.Sub(time.UnixMilli(info.StartedAt))
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// timestamp writes a time of the journal for people.
func timestamp(ms int64) string {
	return time.UnixMilli(ms).UTC().Format(time.DateTime)
}
