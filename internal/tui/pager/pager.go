// Package pager shows rows of several lines one below the other, as a transcript, and scrolls in them.
// It can follow the end, select a row and search.
//
// A row is drawn when it becomes visible, and again only if it changed or the width did. The place
// on the screen is a row and a line of it, never a number of lines from the beginning. So a page
// costs the same with a hundred rows and with a hundred thousand. The package knows nothing about
// what rows are: see [Row]. Start reading at [Pager.Put], then [Pager.Render].
package pager

import "github.com/perstack-go/perstack/internal/tui/paint"

// A Row is what a pager shows.
type Row interface {
	// Render draws the row. Lines that are too wide are cut.
	Render(width int) []paint.Line
	// Text is what a search looks at. It can have more than is drawn.
	Text() string
}

// A Pager shows rows. The zero Pager has none, and follows the end.
type Pager struct {
	rows     []entry
	index    map[string]int
	top      place // the first line that is visible
	away     bool  // the user left the end, so it is not followed
	selected int   // a row, plus 1
	width    int   // of the rows
	height   int
	end      int   // the row after the last visible one
	drawn    []int // the rows whose lines are kept
	search   search
}

// An entry is a row and its lines.
type entry struct {
	id    string
	row   Row
	lines []paint.Line
	width int  // for which lines were drawn; 0 if they were not
	noted bool // the row is among those whose lines are kept

	// Where the search matches, and for which query.
	marks []mark
	query string
}

// A place is a line of a row.
type place struct{ row, line int }

func (p place) before(q place) bool { return p.row < q.row || p.row == q.row && p.line < q.line }

const (
	gutter = 1 // columns before each line, for marks
	// maxDrawn is how many rows keep their lines. It is more than fits on any screen.
	maxDrawn = 1000

	defaultWidth, defaultHeight = 80, 24 // before anything was drawn
)

// Put adds a row at the end, or changes the one that has the same name.
func (p *Pager) Put(id string, row Row) {
	if i, ok := p.index[id]; ok {
		p.rows[i] = entry{id: id, row: row, noted: p.rows[i].noted}
		return
	}
	if p.index == nil {
		p.index = map[string]int{}
	}
	p.index[id] = len(p.rows)
	p.rows = append(p.rows, entry{id: id, row: row})
}

// Clear removes all rows.
func (p *Pager) Clear() { *p = Pager{width: p.width, height: p.height} }

// Len is the number of rows.
func (p *Pager) Len() int { return len(p.rows) }

// lines returns the lines of a row.
func (p *Pager) lines(i int) []paint.Line {
	e := &p.rows[i]
	if width := p.space(); e.width != width {
		if !e.noted {
			p.drawn = append(p.drawn, i)
		}
		e.lines, e.width, e.query, e.noted = e.row.Render(width), width, "", true
	}
	return e.lines
}

func (p *Pager) space() int {
	if p.width == 0 {
		return defaultWidth - gutter
	}
	return p.width
}

func (p *Pager) page() int {
	if p.height == 0 {
		return defaultHeight
	}
	return p.height
}

// forget drops the lines of rows that are far from what is visible, if many are kept.
func (p *Pager) forget(visible int) {
	if len(p.drawn) <= maxDrawn {
		return
	}
	kept := p.drawn[:0]
	for _, i := range p.drawn {
		if i >= p.top.row && i < p.top.row+visible {
			kept = append(kept, i)
		} else {
			p.rows[i] = entry{id: p.rows[i].id, row: p.rows[i].row}
		}
	}
	p.drawn = kept
}

// down returns the place so many lines below, and how many lines are missing for that.
func (p *Pager) down(at place, lines int) (place, int) {
	for ; at.row < len(p.rows); at = (place{at.row + 1, 0}) {
		left := len(p.lines(at.row)) - at.line
		if lines < left {
			return place{at.row, at.line + lines}, 0
		}
		lines -= max(left, 0)
	}
	return at, lines + 1
}

// up returns the place so many lines above, or the beginning.
func (p *Pager) up(at place, lines int) place {
	for lines > at.line {
		lines -= at.line
		if at.row == 0 {
			return place{}
		}
		at = place{at.row - 1, len(p.lines(at.row - 1))}
	}
	return place{at.row, at.line - lines}
}

// last is the first line of the last page.
func (p *Pager) last() place { return p.up(place{len(p.rows), 0}, p.page()) }

// settle returns the first visible line. It follows the end, and leaves no empty lines below.
func (p *Pager) settle() place {
	if p.away && p.top.row < len(p.rows) {
		p.top.line = min(p.top.line, max(len(p.lines(p.top.row))-1, 0)) // the row can have changed
		if _, missing := p.down(p.top, p.page()-1); missing == 0 {
			return p.top
		}
	}
	p.top, p.away = p.last(), false
	return p.top
}

// scroll moves by so many lines: down, or up if it is less than 0. At the end, the pager follows it.
func (p *Pager) scroll(lines int) {
	top := p.settle()
	if lines < 0 {
		p.jump(p.up(top, -lines))
		return
	}
	to, _ := p.down(top, lines)
	p.jump(to)
}

// jump makes a line the first one. It is away from the end if there is more below.
func (p *Pager) jump(to place) {
	p.top, p.away = to, true
	p.settle()
	if p.top == p.last() {
		p.away = false
	}
}

// Home shows the beginning.
func (p *Pager) Home() { p.jump(place{}) }

// End shows the end, and follows it.
func (p *Pager) End() { p.away = false }

// Following reports whether the end is shown, also when more rows come.
func (p *Pager) Following() bool { return !p.away }

// Key does what a key says, by the name that the terminal library gives it, and reports whether the
// key means something here.
func (p *Pager) Key(name string) bool {
	switch name {
	case "pgup":
		p.scroll(-max(p.page()-1, 1))
	case "pgdown":
		p.scroll(max(p.page()-1, 1))
	case "shift+up":
		p.scroll(-1)
	case "shift+down":
		p.scroll(1)
	case "home":
		p.Home()
	case "end":
		p.End()
	case "ctrl+up":
		p.selectAbove()
	case "ctrl+down":
		p.selectBelow()
	default:
		return false
	}
	return true
}

// Render draws at most height lines. The first column is for marks: of the selected row, and of the
// line that a search found.
func (p *Pager) Render(width, height int, palette paint.Palette) (lines []paint.Line) {
	p.width, p.height = max(width-gutter, 1), max(height, 1)
	at := p.settle()
	first := at.row
	for ; at.row < len(p.rows) && len(lines) < p.height; at = (place{at.row + 1, 0}) {
		of := p.lines(at.row)
		for i := at.line; i < len(of) && len(lines) < p.height; i++ {
			lines = append(lines, p.draw(place{at.row, i}, of[i], palette))
		}
	}
	p.end = at.row
	p.forget(at.row - first)
	return lines
}

// Position returns the first and the last visible row, counted from 1, and the number of rows.
func (p *Pager) Position() (first, last, of int) {
	return min(p.top.row+1, len(p.rows)), p.end, len(p.rows)
}

// draw draws one line with its marks.
func (p *Pager) draw(at place, line paint.Line, palette paint.Palette) paint.Line {
	line = paint.Cut(p.highlight(at, line), p.width)
	mark := paint.Text(" ", 0)
	switch {
	case p.isFound(at):
		mark = paint.Text(palette.Mark("▸", ">"), paint.Magenta|paint.Bold)
	case at.row+1 == p.selected:
		mark = paint.Text(palette.Mark("▌", "|"), paint.Cyan|paint.Bold)
	}
	return paint.Join(mark, line)
}
