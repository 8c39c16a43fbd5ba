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
	var text strings.Builder
	err := lines.New(&text, lines.Options{Record: true, Whole: p.verbose, Width: width}).Print(m.rows)
	p.write(text.String())
	if cp := e.Checkpoint(); cp != nil {
		p.field("  Checkpoint", cp.ID)
	}
	p.blank()
	return err
}
