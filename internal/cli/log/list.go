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
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/file"
)

// list prints the jobs, newest first. Jobs that cannot be read are named in their
// place, and the reasons are the error in the end.
func list(ctx context.Context, opts *Options, s store.Store) error {
	sealer, err := opts.verifier()
	if err != nil {
		sealer = nil // without a state directory there is no key
	}
	var jobs []listedJob
	var unreadable []error
	total, originals, wrong := 0, 0, ""
	for _, job := range jobsOf(ctx, s) {
		if job.err != nil && job.info.ID == "" {
			return job.err
		}
		if isOriginal(job.err) {
			job.info.Status, job.err = originalStatus, nil
			originals++
		}
		if job.err != nil {
			job.info.Status, job.info.Interrupted = unreadableStatus, false
			err := job.err
			if job.project != "" {
				err = fmt.Errorf("%s: %w", job.project, err)
			}
			unreadable = append(unreadable, err)
		}
		if total++; total > opts.Offset && (opts.Take == 0 || len(jobs) < opts.Take) {
			if job.seal = job.checkSeal(ctx, sealer); job.seal != nil && wrong == "" {
				wrong = job.info.ID
			}
			jobs = append(jobs, job)
		}
	}
	switch {
	case opts.JSON:
		err = listJSON(opts.Host.Stdout, jobs)
	case total == 0:
		err = opts.nothing()
	default:
		err = listText(opts, jobs, total)
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

// checkSeal says what is wrong with the seals of a job. Most are looked at in two places only; what
// seems wrong there is read as a whole. A job that still runs is not looked at: its seals change.
func (j *listedJob) checkSeal(ctx context.Context, sealer *store.Sealer) error {
	s, ok := j.store.(*file.Store)
	if !ok || sealer == nil || j.err != nil || j.info.Status == originalStatus || j.info.Status == event.JobRunning && !j.info.Interrupted {
		return nil
	}
	err := s.CheckSeals(ctx, j.info.ID, sealer)
	if err != nil {
		_, err = store.VerifySeals(ctx, s, j.info.ID, sealer)
	}
	if !errors.As(err, new(*store.SealError)) && !errors.As(err, new(*store.DamageError)) {
		return nil // nothing is known, such as with a key that cannot be read
	}
	return err
}

// sealNote is what the list says about a wrong seal.
func (j *listedJob) sealNote() string {
	fault, ok := errors.AsType[*store.SealError](j.seal)
	switch {
	case j.seal == nil:
		return ""
	case ok && fault.Fault == store.Unsealed:
		return " (not sealed)"
	}
	return " (seal wrong)"
}

// unreadableStatus stands for the status of a job whose journal says nothing.
const unreadableStatus event.JobStatus = "unreadable"

// originalStatus stands for the status of a job of the original, which has no journal.
const originalStatus event.JobStatus = "not imported"

// listJSON prints one job a line. A job that cannot be read is left to the error.
func listJSON(w io.Writer, jobs []listedJob) error {
	out := event.NewWriter(w)
	for _, job := range jobs {
		info := job.info
		if info.Status == unreadableStatus || info.Status == originalStatus {
			continue
		}
		info.Status = info.CurrentStatus()
		line := struct {
			Project string    `json:"project,omitzero"` // with --all
			Seal    string    `json:"seal,omitzero"`    // what is wrong with it
			Job     event.Job `json:",embed"`
		}{Project: job.project, Job: info.Job}
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
		info := job.info
		status := string(info.CurrentStatus())
		if info.Imported != nil {
			status += " (imported)"
		}
		status += job.sealNote()
		columns := []string{info.ID, status, info.CoordinatorExpertKey, "-", "-", duration(info, now), "-"}
		if info.StartedAt > 0 {
			columns[3] = strconv.Itoa(info.TotalSteps)
			columns[4] = timestamp(info.StartedAt)
			columns[6] = strconv.Itoa(info.Usage.TotalTokens)
		}
		if opts.All {
			columns = append(columns, job.project)
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
