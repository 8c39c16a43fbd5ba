package log

import (
	"context"
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

// walk hands over each event that is to be shown. The rows of a tool call come with the
// event that closes the turn: the records of the single calls are not among the events.
func (v *survey) walk(ctx context.Context, show func(moment) error) error {
	history := engine.NewHistory()
	var narrator narrate.Narrator
	waiting := make(map[string][]narrate.Change) // by Run
	return v.reread(ctx, func(r store.Record, known, shown bool) error {
		if !known {
			return nil
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
		if !shown {
			return nil
		}
		return show(moment{e, changes})
	})
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
