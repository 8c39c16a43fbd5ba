package log

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/terminal"
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
	return v.reread(ctx, func(r store.Record, _ bool, shown bool) error {
		if !shown {
			return nil
		}
		return write(r.Line)
	})
}

// reread reads the journal a second time, up to where the survey came. It says of each
// record whether this version knows its type, and whether it is one of those to show: the
// user has selected it, and it is in the window.
func (v *survey) reread(ctx context.Context, each func(r store.Record, known, shown bool) error) error {
	to := max(v.total-v.opts.Offset, 0)
	from := 0
	if v.opts.Take > 0 {
		from = max(to-v.opts.Take, 0)
	}
	index, results := 0, newResults(v.opts)
	for r, err := range v.store.Read(ctx, v.jobID, 0) {
		if r.Seq > v.last {
			break // the job has grown since
		}
		known := !errors.Is(err, event.ErrUnknownType)
		if known && err != nil {
			return err
		}
		selected := v.opts.showsUnknown()
		if known {
			selected = v.opts.selects(r.Event, results.of(r.Event))
		}
		if err := each(r, known, selected && index >= from && index < to); err != nil {
			return err
		}
		if selected {
			index++
		}
		if r.Seq == v.last {
			break // what follows is damaged, if anything does
		}
	}
	return nil
}

// verify checks a journal against itself and against the head on record.
func verify(ctx context.Context, opts *Options, s store.Store, jobID string) error {
	report, err := store.Verify(ctx, s, jobID)
	damage := (*store.DamageError)(nil)
	switch {
	case errors.As(err, &damage):
		return fmt.Errorf("%w; %d intact records precede it", err, report.Records)
	case err != nil:
		return err
	}
	head := "head matches"
	if report.Recorded == (store.Head{}) {
		head = "no head on record"
	}
	if report.Unknown > 0 {
		head += fmt.Sprintf(", %d of types that this version does not know", report.Unknown)
	}
	_, err = fmt.Fprintf(opts.Host.Stdout, "job %s: %d records, chain intact, %s\n", terminal.CleanLine(jobID), report.Records, head)
	return err
}

// A moment is a selected event: in its full form, and with the rows that it adds or changes.
type moment struct {
	event event.Event
	rows  []narrate.Row
}

// walk hands over each event that is to be shown. The rows of a tool call come with the
// event that closes the turn: the records of the single calls are not among the events.
func (v *survey) walk(ctx context.Context, show func(moment) error) error {
	history := engine.NewHistory()
	var narrator narrate.Narrator
	waiting := make(map[string][]narrate.Row) // by Run
	return v.reread(ctx, func(r store.Record, known, shown bool) error {
		if !known {
			return nil
		}
		e := history.Expand(r)
		rows := narrator.Apply(r.Event)
		switch {
		case e.IsRecordOnly():
			waiting[e.RunID] = append(waiting[e.RunID], rows...)
		case brings(e):
			rows = append(waiting[e.RunID], rows...)
			delete(waiting, e.RunID)
		}
		if !shown {
			return nil
		}
		return show(moment{e, rows})
	})
}
