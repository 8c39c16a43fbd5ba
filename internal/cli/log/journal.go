package log

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/store"
)

// records prints the lines of the journal. They are printed byte for byte, since their
// digests are part of the next line; on a terminal, characters that would act on it
// are escaped, which means the same in JSON.
func records(ctx context.Context, opts *Options, s store.Store, jobID string) error {
	v, err := look(ctx, opts, s, jobID)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(opts.Host.Stdout)
	write := event.NewWriter(out).WriteLine
	if !opts.Host.StdoutIsTerminal {
		write = func(line []byte) error {
			out.Write(line) // bufio repeats an error
			return out.WriteByte('\n')
		}
	}
	from, to := opts.window(v.total)
	index := 0
	results := newResults(opts)
	for r, err := range s.Read(ctx, jobID, 0) {
		if r.Seq > v.last || err != nil && !errors.Is(err, event.ErrUnknownType) {
			break // the survey has met it
		}
		if err != nil && !opts.showsUnknown() || err == nil && !opts.selects(r.Event, results.of(r.Event)) {
			continue
		}
		if index >= from && index < to {
			if err := write(r.Line); err != nil {
				return err
			}
		}
		index++
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return v.end(opts)
}

// verify checks a journal against itself and against the head on record.
func verify(ctx context.Context, opts *Options, s store.Store, jobID string) error {
	report, err := store.Verify(ctx, s, jobID)
	damage := (*store.DamageError)(nil)
	switch {
	case errors.As(err, &damage):
		return fmt.Errorf("%w; %d sound records stand before it", err, report.Records)
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
