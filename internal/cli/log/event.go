package log

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/lines"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/store"
)

// A moment is a selected event: in its full form, and with what it changes about the rows
// that people see.
type moment struct {
	event   event.Event
	changes []narrate.Change
}

// window returns which of the selected events are shown, counted from 0.
func (o *Options) window(total int) (from, to int) {
	to = max(total-o.Offset, 0)
	if o.Take > 0 {
		from = max(to-o.Take, 0)
	}
	return from, to
}

// walk reads the journal a second time and hands over each selected event that is in the
// window. The rows of a tool call come with the event that closes the turn: the records of
// the single calls are not among the events that are shown.
func (v *survey) walk(ctx context.Context, opts *Options, s store.Store, jobID string, show func(moment) error) error {
	from, to := opts.window(v.total)
	history, results := engine.NewHistory(), newResults(opts)
	var narrator narrate.Narrator
	waiting := make(map[string][]narrate.Change) // by Run
	index := 0
	for r, err := range s.Read(ctx, jobID, 0) {
		if r.Seq > v.last {
			break // the job has grown since
		}
		if errors.Is(err, event.ErrUnknownType) {
			continue
		}
		if err != nil {
			return err
		}
		e := history.Expand(r)
		changes := narrator.Apply(r.Event)
		switch {
		case e.IsRecordOnly():
			waiting[e.RunID] = append(waiting[e.RunID], changes...)
		case brings(e):
			changes = append(waiting[e.RunID], changes...)
			delete(waiting, e.RunID)
		}
		if opts.selects(r.Event, results.of(r.Event)) {
			if index >= from && index < to {
				if err := show(moment{e, changes}); err != nil {
					return err
				}
			}
			index++
		}
		if r.Seq == v.last {
			break
		}
	}
	return nil
}

// event prints one event: its heading, the rows that it changes, and its checkpoint.
func (p *printer) event(m moment, width int) error {
	e := m.event
	where := fmt.Sprintf("[Step %d]", e.StepNumber)
	if e.IsRuntime() {
		where = "[Runtime]"
	}
	p.write(fmt.Sprintf("%s %-23s %s\n", where, e.Type(), e.Time().Format(time.TimeOnly)))
	if b, ok := e.Body.(event.StartRun); ok && b.From != nil && b.From.RunID == e.RunID {
		p.field("  Resumes", "checkpoint "+b.From.CheckpointID)
	}
	var rows strings.Builder
	printed := lines.New(&rows, lines.Options{Record: true, Whole: p.verbose, Width: width}).Print(m.changes)
	p.write(rows.String())
	if cp := e.Checkpoint(); cp != nil {
		p.field("  Checkpoint", cp.ID)
	}
	p.blank()
	return printed
}
