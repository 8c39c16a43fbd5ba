package pager

import (
	"strings"

	"github.com/perstack-go/perstack/internal/tui/match"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A search is what the user looks for, and the match that is shown.
type search struct {
	query string
	row   int // plus 1; 0 if nothing was found
	match int // of the row's matches
}

// A mark is a match in the lines of a row. It can begin in one and end in another.
type mark struct{ parts []part }

// A part is some bytes of a line.
type part struct{ line, begin, end int }

// Find looks for a text: in what is visible and below, else above. It reports whether there is a match.
// An empty text ends the search.
func (p *Pager) Find(query string) bool {
	p.search = search{query: strings.Join(strings.Fields(query), " ")}
	if p.search.query == "" {
		return false
	}
	top := p.settle()
	for i := top.row; i < len(p.rows); i++ {
		for n := range p.matches(i) {
			if at := p.place(i, n); !at.before(top) {
				return p.show(i, n)
			}
		}
	}
	for i := top.row; i >= 0 && i < len(p.rows); i-- {
		if n := p.matches(i); n > 0 {
			return p.show(i, n-1)
		}
	}
	return false
}

// Query is what is looked for; "" if no search is open.
func (p *Pager) Query() string { return p.search.query }

// Next shows the match below, after the last one the first.
func (p *Pager) Next() bool { return p.step(1) }

// Previous shows the match above, before the first one the last.
func (p *Pager) Previous() bool { return p.step(-1) }

func (p *Pager) step(by int) bool {
	s := p.search
	if s.row == 0 {
		return s.query != "" && p.Find(s.query)
	}
	row := s.row - 1
	if n := s.match + by; n >= 0 && n < p.matches(row) {
		return p.show(row, n)
	}
	for range len(p.rows) {
		row = (row + by + len(p.rows)) % len(p.rows)
		if n := p.matches(row); n > 0 {
			if by > 0 {
				n = 1
			}
			return p.show(row, n-1)
		}
	}
	return false // the rows have changed
}

// show shows a match.
func (p *Pager) show(row, n int) bool {
	p.search.row, p.search.match = row+1, n
	lines := 1
	if marks := p.marks(row); n < len(marks) {
		parts := marks[n].parts
		lines += parts[len(parts)-1].line - parts[0].line
	}
	p.reveal(p.place(row, n), lines)
	return true
}

// matches returns how many matches a row has. One that has the text only in what is not drawn has one.
func (p *Pager) matches(i int) int {
	if begin, _ := match.Index(strings.Join(strings.Fields(p.rows[i].row.Text()), " "), p.search.query); begin < 0 {
		return 0
	}
	return max(len(p.marks(i)), 1)
}

// place is the line at which a match begins.
func (p *Pager) place(row, n int) place {
	if marks := p.marks(row); n < len(marks) {
		return place{row, marks[n].parts[0].line}
	}
	return place{row, 0}
}

// marks returns where the lines of a row match.
func (p *Pager) marks(i int) []mark {
	lines := p.lines(i)
	e := &p.rows[i]
	if e.query != p.search.query {
		e.query, e.marks = p.search.query, find(lines, p.search.query)
	}
	return e.marks
}

// find looks for a text in lines. What a line was broken at counts as one blank.
func find(lines []paint.Line, query string) (marks []mark) {
	var all strings.Builder
	from := make([]part, 0, len(lines)) // what each line has of the text
	for i, line := range lines {
		text := line.Text()
		trimmed := strings.TrimLeft(text, " ")
		if all.Len() > 0 {
			all.WriteByte(' ')
		}
		from = append(from, part{i, all.Len(), len(text) - len(trimmed)})
		all.WriteString(trimmed)
	}
	text, at, line := all.String(), 0, 0
	for {
		begin, end := match.Index(text[at:], query)
		if begin < 0 {
			return marks
		}
		begin, end = begin+at, end+at
		for line+1 < len(from) && from[line+1].begin <= begin {
			line++
		}
		var m mark
		for l := line; l < len(from) && from[l].begin < end; l++ {
			indent, start := from[l].end, from[l].begin
			size := len(lines[from[l].line].Text()) - indent
			if b, e := max(begin-start, 0), min(end-start, size); e > b {
				m.parts = append(m.parts, part{from[l].line, b + indent, e + indent})
			}
		}
		if m.parts != nil {
			marks = append(marks, m)
		}
		at = end
	}
}

// highlight shows the matches in a line; the one that was found in reverse.
func (p *Pager) highlight(at place, line paint.Line) paint.Line {
	if p.search.query == "" {
		return line
	}
	for n, m := range p.marks(at.row) {
		for _, part := range m.parts {
			style := paint.Magenta | paint.Bold
			if p.search.row == at.row+1 && p.search.match == n {
				style = paint.Reverse
			}
			if part.line == at.line {
				line = paint.Highlight(line, part.begin, part.end, style)
			}
		}
	}
	return line
}

// isFound reports whether the match that is shown begins in a line.
func (p *Pager) isFound(at place) bool {
	return p.search.row == at.row+1 && p.place(at.row, p.search.match) == at
}
