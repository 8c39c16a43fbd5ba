// Package list shows a list from which the user selects: with a filter, and scrolling. It draws the
// rows that are visible and no others, so a list of any length costs the same.
//
// The package knows nothing about what the items are, and reads nothing: see [Source]. Start reading
// at [List].
package list

import (
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A Source has the items of a list.
type Source interface {
	Len() int
	ID(i int) string              // names an item, also after the items were read again
	Text(i int) string            // what a filter looks at
	Line(i, width int) paint.Line // what is drawn; it is cut if it is too wide
}

// A List is a list and what is selected in it.
type List struct {
	source Source
	filter string
	passed []int // the items that pass the filter; nil if there is none
	at     int   // the selected place: an index of passed, or an item
	top    int   // the first place that is shown
	height int   // of the last drawing
}

// New returns a list whose first item is selected.
func New(source Source) *List { return &List{source: source} }

// SetSource replaces the items. The selected one stays selected if it is still an item.
func (l *List) SetSource(source Source) {
	id, selected := l.ID()
	l.source, l.passed = source, nil
	if l.filter != "" {
		l.sift(nil)
	}
	if selected {
		l.Select(id)
	}
	l.clamp()
}

// Len is the number of items that pass the filter.
func (l *List) Len() int {
	if l.filter != "" {
		return len(l.passed)
	}
	return l.source.Len()
}

// item returns the item at a place.
func (l *List) item(place int) int {
	if l.filter != "" {
		return l.passed[place]
	}
	return place
}

// Selected returns the selected item, and false if there is none.
func (l *List) Selected() (int, bool) {
	if l.Len() == 0 {
		return 0, false
	}
	return l.item(l.at), true
}

// ID returns the name of the selected item, and false if there is none.
func (l *List) ID() (string, bool) {
	i, ok := l.Selected()
	if !ok {
		return "", false
	}
	return l.source.ID(i), true
}

// Select selects an item by its name, if it passes the filter.
func (l *List) Select(id string) {
	n := l.Len()
	for i := range n { // it is often where the selection was
		if place := (l.at + i) % n; l.source.ID(l.item(place)) == id {
			l.at = place
			return
		}
	}
}

// Filter returns what items must contain.
func (l *List) Filter() string { return l.filter }

// setFilter shows the items that contain all words of a text, in any letter case. The selected item
// stays selected if it passes, else the first one is.
func (l *List) setFilter(filter string) {
	id, selected := l.ID()
	narrower := l.passed
	if l.filter == "" || !strings.HasPrefix(filter, l.filter) {
		narrower = nil
	}
	l.filter, l.passed = filter, nil
	l.at, l.top = 0, 0
	if filter != "" {
		l.sift(narrower)
	}
	if selected {
		l.Select(id)
	}
	l.clamp()
}

// sift finds the items that pass the filter, among some or among all.
func (l *List) sift(among []int) {
	words := strings.Fields(strings.ToLower(l.filter))
	passes := func(i int) bool {
		text := strings.ToLower(l.source.Text(i))
		for _, word := range words {
			if !strings.Contains(text, word) {
				return false
			}
		}
		return true
	}
	l.passed = []int{}
	if among != nil {
		for _, i := range among {
			if passes(i) {
				l.passed = append(l.passed, i)
			}
		}
		return
	}
	for i := range l.source.Len() {
		if passes(i) {
			l.passed = append(l.passed, i)
		}
	}
}

// Move selects another item, so many places further.
func (l *List) Move(by int) {
	l.at += by
	l.clamp()
}

func (l *List) clamp() { l.at = max(min(l.at, l.Len()-1), 0) }

// Type adds to the filter.
func (l *List) Type(text string) { l.setFilter(l.filter + text) }

// Key does what a key says, by the name that the terminal library gives it, and reports whether the
// key means something here.
func (l *List) Key(name string) bool {
	page := max(l.height-2, 1)
	switch name {
	case "up":
		l.Move(-1)
	case "down":
		l.Move(1)
	case "pgup":
		l.Move(-page)
	case "pgdown":
		l.Move(page)
	case "home":
		l.Move(-l.Len())
	case "end":
		l.Move(l.Len())
	case "backspace":
		if l.filter == "" {
			return false
		}
		end := 0 // where the last character begins
		for i := range l.filter {
			end = i
		}
		l.setFilter(l.filter[:end])
	case "esc", "ctrl+u":
		if l.filter == "" {
			return false
		}
		l.setFilter("")
	default:
		return false
	}
	return true
}

// Position is the selected place and the number of items, as in "(3/120)"; "" if all of them are
// visible.
func (l *List) Position() string {
	if n := l.Len(); n > l.height {
		return fmt.Sprintf("(%d/%d)", l.at+1, n)
	}
	return ""
}

// minMarked is the least height at which rows are given to the marks for more.
const minMarked = 4

// Render draws at most height rows. The selected one has a mark. If there are more items above or
// below, the first or the last row is "...".
func (l *List) Render(width, height int, palette paint.Palette) (lines []paint.Line) {
	l.height = max(height, 1)
	if l.Len() == 0 {
		if l.filter != "" {
			return []paint.Line{paint.Cut(paint.Text("  nothing matches", paint.Quiet), width)}
		}
		return nil
	}
	l.scroll()
	end := l.top + l.capacity(l.top)
	mark := paint.Text("  ...", paint.Quiet)
	if l.marks() && l.top > 0 {
		lines = append(lines, paint.Cut(mark, width))
	}
	for place := l.top; place < min(end, l.Len()); place++ {
		lines = append(lines, l.row(place, width, palette))
	}
	if l.marks() && end < l.Len() {
		lines = append(lines, paint.Cut(mark, width))
	}
	return lines
}

func (l *List) row(place, width int, palette paint.Palette) paint.Line {
	line := l.source.Line(l.item(place), max(width-2, 0))
	if place != l.at {
		return paint.Cut(paint.Join(paint.Text("  ", 0), line), width)
	}
	mark := paint.Text(palette.Mark("❯", ">")+" ", paint.Cyan|paint.Bold)
	return paint.Cut(paint.Join(mark, paint.Restyle(line, paint.Bold|paint.Cyan)), width)
}

func (l *List) marks() bool { return l.height >= minMarked }

// capacity is how many items are visible if the first of them is at top.
func (l *List) capacity(top int) int {
	n := l.height
	if !l.marks() {
		return n
	}
	if top > 0 {
		n--
	}
	if top+n < l.Len() {
		n--
	}
	return n
}

// scroll makes the selected item visible, and moves no further than it must.
func (l *List) scroll() {
	l.top = max(min(l.top, l.at, l.Len()-1), l.at-l.height+1, 0)
	for l.at >= l.top+l.capacity(l.top) { // at most for the two marks
		l.top++
	}
	for l.top > 0 && l.top-1+l.capacity(l.top-1) >= l.Len() { // there is no empty row below
		l.top--
	}
	if l.top == 1 && l.marks() && l.at < l.capacity(0) { // the mark would hide a single item
		l.top = 0
	}
}
