package edit

import (
	"strings"

	"github.com/perstack-go/perstack/internal/tui/match"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A search looks for an input that was sent before.
type search struct {
	query string
	back  int // the entry that was found, counted from the end; 0 if none was
	none  bool
	found string // the text of that entry
}

// Search begins to search the history, or looks for an older input that is another.
func (e *Editor) Search() {
	if e.search == nil {
		e.search = &search{}
		return
	}
	e.find(e.search.back + 1)
}

// Searching reports whether a search is open.
func (e *Editor) Searching() bool { return e.search != nil }

// extend adds to what is looked for. What was found stays if it fits.
func (e *Editor) extend(clean string) {
	line, _, _ := strings.Cut(clean, "\n")
	e.search.query += strings.ReplaceAll(line, "\t", " ")
	e.find(max(e.search.back, 1))
}

// shorten removes the last unit of what is looked for, and begins with the last input.
func (e *Editor) shorten() {
	last := ""
	for unit := range e.units(e.search.query) {
		last = unit
	}
	e.search.query = strings.TrimSuffix(e.search.query, last)
	e.search.back, e.search.found = 0, ""
	e.find(1)
}

// find looks from an entry on, towards older ones. If there is none, what was found stays.
func (e *Editor) find(back int) {
	s := e.search
	s.none = false
	if s.query == "" {
		return
	}
	for ; back <= len(e.past.entries); back++ {
		entry := cleanEntry(e.past.entries[len(e.past.entries)-back])
		if begin, _ := match.Index(entry, s.query); begin >= 0 && (back == s.back || entry != s.found) {
			s.back, s.found = back, entry
			return
		}
	}
	s.none = true
}

// accept ends a search. What was found is the input then, unless there is nothing.
func (e *Editor) accept() {
	s := e.search
	if e.search = nil; s == nil || s.found == "" {
		return
	}
	e.visit(s.back)
	e.text = s.found
	e.moveTo(len(e.text))
}

// cancel ends a search and leaves the input as it was.
func (e *Editor) cancel() { e.search = nil }

// renderSearch draws what is looked for, and below it what was found.
func (e *Editor) renderSearch(height int) View {
	s := e.search
	label := "search: "
	if s.none {
		label = "no match: "
	}
	first := paint.Join(paint.Text(label, paint.Bold), paint.Text(s.query, 0))
	if over := paint.Width(first) - e.laid.space; over > 0 { // the end is what the user types at
		_, first = paint.Split(first, over+1)
	}
	v := View{Lines: []paint.Line{first}, X: min(paint.Width(first), e.laid.space)}
	begin, end := match.Index(s.found, s.query)
	rows := e.wrap(s.found, e.laid.space)
	from := max(min(rowAt(rows, max(begin, 0)), len(rows)-height+1), 0)
	for _, r := range rows[from:min(from+height-1, len(rows))] {
		line := e.drawFound(s.found, r, begin, end)
		v.Lines = append(v.Lines, line)
	}
	if s.found == "" {
		v.Lines = v.Lines[:1]
	}
	return v
}

// drawFound draws a row of what was found, with the place that fits.
func (e *Editor) drawFound(text string, r row, begin, end int) paint.Line {
	if s := e.search; s.query == "" || begin < 0 {
		begin, end = 0, 0
	}
	from, to := min(max(begin, r.begin), r.end), min(max(end, r.begin), r.end)
	return paint.Join(e.draw(text[r.begin:from]), paint.Restyle(e.draw(text[from:to]), paint.Reverse), e.draw(text[to:r.end]))
}
