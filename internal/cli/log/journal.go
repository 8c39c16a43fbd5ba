package log

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/store"
)

// printRecords prints the lines of the journal. They are printed byte for byte, since their
// digests are part of the next line; on a terminal, characters that would act on it
// are escaped, which means the same in JSON.
func (v *survey) printRecords(ctx context.Context, out *bufio.Writer) error {
	write := event.NewWriter(out).WriteLine
	if !v.opts.Host.StdoutIsTerminal {
		write = func(line []byte) error {
			out.Write(line) // bufio repeats an error
			return out.WriteByte('\n')
		}
	}
	window := v.window()
	return v.reread(ctx, func(r store.Record, _, selected bool) error {
		if !v.opts.in(r.Event) {
			return nil
		}
		return window.add(selected, func() error { return write(r.Line) })
	})
}

// reread reads the journal a second time, up to where the survey ended, or with --follow to its end.
// It says of each record whether this version knows its type, and whether the user has selected it.
func (v *survey) reread(ctx context.Context, each func(r store.Record, known, selected bool) error) error {
	next := 0 // in v.selected
	for r, err := range v.records(ctx) {
		known := !errors.Is(err, event.ErrUnknownType)
		if known && err != nil {
			return stopped(ctx, err)
		}
		if r.Seq > v.last {
			if !v.follows() {
				break // it is newer than the survey
			}
			if err := v.add(ctx, r, known); err != nil {
				return err
			}
		}
		selected := next < len(v.selected) && v.selected[next] == r.Seq
		if selected {
			next++
		}
		if err := each(r, known, selected); err != nil {
			return err
		}
		if r.Seq == v.last && !v.follows() {
			break // what follows is damaged, or newer
		}
	}
	if !v.follows() {
		return nil
	}
	info, err := store.FindJob(ctx, v.store, v.jobID) // how it ended
	v.info = info
	return stopped(ctx, err)
}

// verify checks a journal against itself, the recorded head and its seals.
func verify(ctx context.Context, opts *Options, s store.Store, jobID string) error {
	sealer, err := opts.verifier()
	if err != nil {
		return err
	}
	report, err := check(ctx, s, jobID, sealer)
	if err != nil {
		return err
	}
	found := "head matches"
	if report.Recorded == (store.Head{}) {
		found = "no head on record"
	}
	if sealer != nil {
		found += ", sealed by your key"
		if other, err := opts.isOther(report.Project); err != nil {
			return err
		} else if other {
			found += fmt.Sprintf(" in another project (%q)", report.Project)
		}
	}
	if report.Unknown > 0 {
		found += fmt.Sprintf(", %d of types that this version does not know", report.Unknown)
	}
	if info, err := store.FindJob(ctx, s, jobID); err == nil && info.Imported != nil {
		found += "; the job was imported: what happened before is not proved"
	}
	if report.Trusted > 0 {
		found += fmt.Sprintf("; what is before record %d is not proved: it was continued with --trust-history", report.Trusted)
	}
	_, err = fmt.Fprintf(opts.Host.Stdout, "job %s: %d records, chain intact, %s\n", terminal.CleanLine(jobID), report.Records, found)
	return err
}

// verifier returns what checks seals. It is nil for a store that was handed in: that one belongs to
// a program, with a key of its own.
func (o *Options) verifier() (*store.Sealer, error) {
	if o.Store != nil {
		return nil, nil
	}
	return o.Host.Verifier()
}

// check verifies one journal, and says in the error how much of it is valid.
func check(ctx context.Context, s store.Store, jobID string, sealer *store.Sealer) (store.Report, error) {
	report, err := store.VerifySeals(ctx, s, jobID, sealer)
	switch {
	case errors.As(err, new(*store.DamageError)):
		err = fmt.Errorf("%w; %d intact records precede it", err, report.Records)
	case errors.As(err, new(*store.SealError)):
		err = fmt.Errorf("%w; the chain of all %d records is intact, %d have a valid seal", err, report.Records, report.Sealed)
	}
	return report, err
}

// verifyAll checks the jobs of all projects. The error names those that are wrong, a line each.
func verifyAll(ctx context.Context, opts *Options, s store.Store) error {
	every, ok := s.(*everyProject)
	if !ok {
		return host.Usagef("this history has no projects; leave out --all")
	}
	sealer, err := opts.verifier()
	if err != nil {
		return err
	}
	total := 0
	var wrong []error
	for _, p := range every.projects {
		for info, err := range p.store.Jobs(ctx) {
			if history.IsOriginal(err) {
				continue // it has no journal
			}
			total++
			if info.ID != "" && store.CheckID(info.ID) == nil { // the whole journal says more than the list
				_, err = check(ctx, p.store, info.ID, sealer)
			}
			if err != nil {
				wrong = append(wrong, fmt.Errorf("%s: %w", p.path, err))
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if total == 0 {
		return opts.nothingToVerify()
	}
	if _, err := fmt.Fprintf(opts.Host.Stdout, "%s checked, %d wrong\n", wording.Count(total, "job"), len(wrong)); err != nil {
		return err
	}
	if len(wrong) > 0 {
		return &host.ExitError{Code: host.ExitFailure, Err: errors.Join(wrong...)}
	}
	return nil
}

// nothingToVerify is an error: a script must not take a history that is gone for a valid one.
func (o *Options) nothingToVerify() error {
	if o.All {
		return host.Usagef("no project has a job, so there is nothing to verify")
	}
	history, err := o.history()
	if err != nil {
		return err
	}
	return host.Usagef("there is no job to verify in %s", history.Dir)
}

// isOther reports whether a job was recorded in another project than the one that the command is
// about.
func (o *Options) isOther(project string) (bool, error) {
	if o.All {
		return false, nil
	}
	history, err := o.history()
	if err != nil || history.Project.State == "" {
		return false, err
	}
	adopted, err := history.Project.Adopted()
	return project != history.Project.ID() && !slices.Contains(adopted, project), err
}

// walk hands over each event that is to be shown, in its full form and with the rows that are listed
// with it. It returns how many of them are selected.
func (v *survey) walk(ctx context.Context, show func(seq int64, e event.Event, rows []narrate.Row) error) (matched int, err error) {
	history, teller, window := engine.NewHistory(), newTeller(), v.window()
	err = v.reread(ctx, func(r store.Record, known, selected bool) error {
		if !known {
			return nil
		}
		e, told := history.Expand(r), teller.tell(r.Event)
		if !v.opts.lists(e) {
			return nil
		}
		return window.add(selected, func() error { return show(r.Seq, e, told.listed) })
	})
	return window.matched, err
}
