package log

import (
	"iter"
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/lines"
	"github.com/perstack-go/perstack/internal/narrate"
)

// A teller says which rows come with which event.
type teller struct {
	narrator narrate.Narrator
	waiting  map[string][]narrate.Row // by Run
	totals   narrate.Totals
}

// told are the rows that come with an event: its own, which it adds or changes, and those that are
// listed with it. The journal has records of its own for single calls, which are not among
// the events that people see: their rows are listed with the event that closes the turn.
type told struct{ own, listed []narrate.Row }

func newTeller() *teller { return &teller{waiting: make(map[string][]narrate.Row)} }

// tell returns the rows that come with e. It must be given every event, in order, in its
// lean form.
func (t *teller) tell(e event.Event) told {
	changes := t.narrator.Apply(e)
	for _, c := range changes {
		if totals, ok := c.(narrate.Totals); ok {
			t.totals = totals
		}
	}
	own := narrate.Rows(changes)
	switch {
	case e.IsRecordOnly():
		t.waiting[e.RunID] = append(t.waiting[e.RunID], own...)
		return told{own: own}
	case closesTurn(e):
		listed := slices.Concat(t.waiting[e.RunID], own)
		delete(t.waiting, e.RunID)
		return told{own, listed}
	}
	return told{own, own}
}

// closesTurn reports whether e shows what became of the calls of a turn.
func closesTurn(e event.Event) bool {
	switch e.Body.(type) {
	case event.ResolveToolResults, event.AttemptCompletion, event.ContinueToNextStep:
		return true
	}
	return e.IsTerminal()
}

// A picker finds the rows of a transcript. A row is selected if one of the events is that added or
// changed it.
type picker struct {
	run      string // "" for all
	shows    func(narrate.Row) bool
	selected map[string]bool
}

func newPicker(o *Options) *picker {
	return &picker{run: o.Run, shows: lines.New(nil, o.lineOptions()).Shows, selected: make(map[string]bool)}
}

// pick yields the rows of an event that belong to the transcript, and whether they are selected. It
// must be given all events, in order.
func (k *picker) pick(rows []narrate.Row, selected bool) iter.Seq2[narrate.Row, bool] {
	return func(yield func(narrate.Row, bool) bool) {
		for _, r := range rows {
			if selected {
				k.selected[r.ID] = true
			}
			if k.run != "" && k.run != r.Run || !k.shows(r) {
				continue
			}
			if !yield(r, k.selected[r.ID]) {
				return
			}
		}
	}
}
