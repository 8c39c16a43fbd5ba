package tui

import (
	"fmt"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/tui/pager"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A transcript is what a person sees of a job: the rows that internal/narrate folds from its events.
type transcript struct {
	p        *program
	narrator narrate.Narrator
	pager    pager.Pager
	rows     map[string]narrate.Row
	runs     []narrate.Run  // in the order in which they began
	runAt    map[string]int // in runs
	totals   narrate.Totals
	notices  int
}

func newTranscript(p *program) *transcript {
	return &transcript{p: p, rows: make(map[string]narrate.Row), runAt: make(map[string]int)}
}

// apply takes in an event.
func (t *transcript) apply(e event.Event) {
	for _, c := range t.narrator.Apply(e) {
		switch c := c.(type) {
		case narrate.Row:
			t.put(c)
		case narrate.Run:
			t.putRun(c)
		case narrate.Totals:
			t.totals = c
		case narrate.Stream, narrate.Ask:
		}
	}
}

func (t *transcript) put(r narrate.Row) {
	if r.Repeats || r.Minor {
		return
	}
	t.rows[r.ID] = r
	t.pager.Put(r.ID, &row{t.p, r})
}

// tell adds a notice that is no event.
func (t *transcript) tell(notice string) {
	t.notices++
	t.pager.Put(fmt.Sprintf("notice-%d", t.notices), &row{t.p, narrate.Row{Label: "Note", Body: []narrate.Text{{Text: notice}}}})
}

func (t *transcript) putRun(r narrate.Run) {
	i, ok := t.runAt[r.ID]
	if !ok {
		t.runAt[r.ID] = len(t.runs)
		t.runs = append(t.runs, r)
		return
	}
	t.runs[i] = r
}

// A row draws a row of a job.
type row struct {
	p   *program
	row narrate.Row
}

func (r *row) Render(width int) []paint.Line {
	line := paint.Join(paint.Text(r.p.palette.Mark("● ", "* "), paint.Green), paint.Text(r.p.cleanLine(r.row.Label)+"  ", paint.Bold), paint.Text(r.p.cleanLine(r.row.Summary), 0))
	lines := []paint.Line{line}
	for _, t := range r.row.Body {
		lines = append(lines, paint.Text("  "+r.p.cleanLine(t.Text), 0))
	}
	return lines
}

func (r *row) Text() string { return r.p.cleanLine(r.row.Label + " " + r.row.Summary) }
