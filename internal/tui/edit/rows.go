package edit

import (
	"sort"

	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A row is what one row of the screen shows: bytes of the text.
type row struct{ begin, end int }

// A layout is the rows of a text at a width.
type layout struct {
	text  string
	space int
	rows  []row
	count int // how often rows were made
}

// minSpace is enough for any character.
const minSpace = 2

// defaultSpace is used before anything was drawn.
const defaultSpace = 79

// rows returns the rows of the text. They are made again only if the text or the width is another.
func (e *Editor) rows() []row {
	if e.laid.space == 0 {
		e.laid.space = defaultSpace
	}
	if e.laid.rows == nil || e.laid.text != e.text {
		e.laid.text, e.laid.rows = e.text, e.wrap(e.text, e.laid.space)
		e.laid.count++
	}
	return e.laid.rows
}

// wrap breaks a text into rows of so many columns: after a blank, before or after a chip or a wide
// character, or anywhere between two units if there is none. Nothing is lost but line feeds.
func (e *Editor) wrap(text string, space int) (rows []row) {
	begin, at, n := 0, 0, 0 // the row, the unit, the columns of the row before it
	word, before := 0, 0    // where the last word of the row begins, and the columns before it
	for unit, width := range e.units(text) {
		width = min(width, space)
		apart := width > 1 && unit != "\t"
		if apart {
			word, before = at, n
		}
		switch {
		case unit == "\n":
			rows = append(rows, row{begin, at})
			begin, n, word = at+1, -width, at+1
		case n+width <= space:
		case unit == " ": // it stays in the column that is free
			rows = append(rows, row{begin, at + 1})
			begin, n, word = at+1, -width, at+1
		case word > begin && unit != "\t":
			rows = append(rows, row{begin, word})
			begin, n = word, n-before
			if n+width > space { // the word itself is too long
				rows = append(rows, row{begin, at})
				begin, n = at, 0
			}
			word = begin
		default:
			rows = append(rows, row{begin, at})
			begin, n, word = at, 0, at
		}
		at, n = at+len(unit), n+width
		if apart || unit == " " || unit == "\t" {
			word, before = at, n
		}
	}
	return append(rows, row{begin, at})
}

// rowAt returns the number of the row that has a place of the text. Between two rows it is the second.
func rowAt(rows []row, at int) int {
	return max(sort.Search(len(rows), func(i int) bool { return rows[i].begin > at })-1, 0)
}

// column is how many columns are before the cursor in its row.
func (e *Editor) column(r row, at int) int {
	n := 0
	for _, width := range e.units(e.text[r.begin:at]) {
		n += min(width, e.laid.space)
	}
	return n
}

// Up moves to the row above and reports whether there is one.
func (e *Editor) Up() bool { return e.moveRows(-1) }

// Down moves to the row below and reports whether there is one.
func (e *Editor) Down() bool { return e.moveRows(1) }

func (e *Editor) moveRows(by int) bool {
	rows := e.rows()
	from := rowAt(rows, e.cursor)
	to := from + by
	if to < 0 || to >= len(rows) {
		return false
	}
	goal := e.goal
	if goal == 0 {
		goal = e.column(rows[from], e.cursor) + 1
	}
	e.moveTo(e.placeIn(rows, to, goal-1))
	e.goal = goal
	return true
}

// placeIn is the place in a row that is nearest to a column. The end of a row that continues in the
// next is the beginning of that one, so the place is before its last unit.
func (e *Editor) placeIn(rows []row, i, column int) int {
	r := rows[i]
	continues := i+1 < len(rows) && rows[i+1].begin == r.end
	at, n := r.begin, 0
	for unit, width := range e.units(e.text[r.begin:r.end]) {
		width = min(width, e.laid.space)
		if n+width > column || continues && at+len(unit) == r.end {
			break
		}
		at, n = at+len(unit), n+width
	}
	return at
}

// A View is the input as it is drawn.
type View struct {
	Lines []paint.Line
	X, Y  int // where the cursor is
	Above int // rows that are not shown
	Below int
}

// Render draws the input: at most height rows, among them that of the cursor. The last column is left
// free, so that the cursor can be after a full row.
func (e *Editor) Render(width, height int) View {
	height = max(height, 1)
	if space := max(width-1, minSpace); space != e.laid.space {
		e.laid.space, e.laid.rows = space, nil
	}
	if e.search != nil {
		return e.renderSearch(height)
	}
	rows := e.rows()
	y := rowAt(rows, e.cursor)
	e.top = max(min(e.top, y, len(rows)-height), y-height+1, 0)
	shown := rows[e.top:min(e.top+height, len(rows))]
	v := View{X: e.column(rows[y], e.cursor), Y: y - e.top, Above: e.top, Below: len(rows) - e.top - len(shown)}
	for _, r := range shown {
		v.Lines = append(v.Lines, e.draw(e.text[r.begin:r.end]))
	}
	return v
}

// draw draws the text of a row.
func (e *Editor) draw(text string) (line paint.Line) {
	begin, at := 0, 0
	for unit := range e.units(text) {
		if shown := e.show(unit); shown != unit {
			style := paint.Style(0)
			if unit != "\t" {
				style = paint.Cyan
			}
			line = paint.Join(line, paint.Text(text[begin:at], 0), paint.Text(paint.CutText(shown, e.laid.space), style))
			begin = at + len(unit)
		}
		at += len(unit)
	}
	return paint.Join(line, paint.Text(text[begin:], 0))
}
