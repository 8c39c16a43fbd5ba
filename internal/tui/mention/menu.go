package mention

import (
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A Menu offers the paths that fit what the user types after an "@". The zero Menu is closed.
type Menu struct {
	index  *Index
	begin  int // of the mention in the line, plus 1; 0 if there is none
	size   int // bytes from the "@" to the cursor
	query  string
	found  []string
	at     int // the selected path
	first  int // the first path that is visible
	moved  bool
	closed int // the mention that the user closed, plus 1
}

// A Choice is a path that the user chose.
type Choice struct {
	Path    string
	Replace int    // so many bytes before the cursor make place for it
	Text    string // what takes their place
}

// SetIndex sets the paths, as soon as they are known.
func (m *Menu) SetIndex(x *Index) {
	m.index = x
	m.look()
}

// Update opens or closes the menu, after the text of the line before the cursor.
func (m *Menu) Update(before string) {
	begin, query := pending(before)
	if begin != m.closed {
		m.closed = 0
	}
	if begin == m.begin && query == m.query {
		m.size = len(before) - begin + 1
		return
	}
	m.begin, m.query, m.size = begin, query, len(before)-begin+1
	m.look()
}

// look finds the paths that fit.
func (m *Menu) look() {
	m.found, m.at, m.first, m.moved = nil, 0, 0, false
	if m.begin > 0 && m.index != nil {
		m.found = m.index.search(m.query)
	}
}

// pending returns where the mention begins at whose end the cursor is, plus 1, and what is written of it.
func pending(before string) (begin int, query string) {
	for i := 0; i < len(before); i++ {
		if before[i] != '@' || !opens(before[:i]) {
			continue
		}
		if quoted, ok := strings.CutPrefix(before[i+1:], `"`); ok {
			path, end, closed := unquote(quoted)
			if !closed {
				return i + 1, path
			}
			i += 1 + end
			continue
		}
		if rest := before[i+1:]; !strings.ContainsAny(rest, blanks) {
			return i + 1, rest
		}
	}
	return 0, ""
}

// IsOpen reports whether the menu is shown.
func (m *Menu) IsOpen() bool { return m.begin > 0 && m.begin != m.closed }

// Key does what a key says, by the name that the terminal library gives it, and reports whether the
// key means something here. Tab and Enter choose: Text of the choice is not empty then. Enter does so
// only if the user typed a letter of the path or moved, since it also sends an input.
func (m *Menu) Key(name string) (c Choice, taken bool) {
	if !m.IsOpen() {
		return c, false
	}
	switch {
	case name == "esc":
		m.closed = m.begin
		return c, true
	case len(m.found) == 0:
		return c, false
	case name == "up":
		m.at = (m.at + len(m.found) - 1) % len(m.found)
		m.moved = true
	case name == "down":
		m.at = (m.at + 1) % len(m.found)
		m.moved = true
	case name == "tab", name == "enter" && (m.query != "" || m.moved):
		return m.choice(), true
	default:
		return c, false
	}
	return c, true
}

// choice is the selected path. A directory is written so that what is in it can be chosen next.
func (m *Menu) choice() Choice {
	path := m.found[m.at]
	text := Write(path) + " "
	if strings.HasSuffix(path, "/") {
		text = open(path)
	}
	return Choice{Path: path, Replace: m.size, Text: text}
}

// Render draws the paths in one line, the selected one among them.
func (m *Menu) Render(width int, palette paint.Palette) paint.Line {
	switch {
	case !m.IsOpen():
		return nil
	case m.index == nil:
		return paint.Cut(paint.Text("  listing files...", paint.Quiet), width)
	case len(m.found) == 0:
		return paint.Cut(paint.Text("  no path fits"+m.cut(), paint.Quiet), width)
	}
	tail, space := m.cut(), width-len(m.cut())
	if m.first = 0; !m.fits(space) {
		tail = fmt.Sprintf("  (%d/%d)", m.at+1, len(m.found)) + tail
		if space = width - len(tail) - len(more); space < minSpace {
			tail, space = "", max(width-len(more), 0)
		}
		m.scroll(space)
	}
	var line paint.Line
	for i, left := m.first, space; i < len(m.found); i++ {
		name := shorten(m.found[i], space-gap)
		if left -= gap + paint.TextWidth(name); left < 0 && i > m.first {
			line = paint.Join(line, paint.Text(more, paint.Quiet))
			break
		}
		line = paint.Join(line, m.item(name, i == m.at, palette))
	}
	return paint.Cut(paint.Join(line, paint.Text(tail, paint.Quiet)), width)
}

// fits reports whether all paths fit into so many columns.
func (m *Menu) fits(space int) bool {
	if len(m.found) == 1 {
		return true // it is cut
	}
	for _, path := range m.found {
		if space -= gap + paint.TextWidth(path); space < 0 {
			return false
		}
	}
	return true
}

const (
	gap      = 2 // blanks before each path
	more     = "  ..."
	minSpace = 12 // for paths, or the number of them is left out
)

// item draws one path. Without colours a mark shows which one is selected.
func (m *Menu) item(name string, selected bool, palette paint.Palette) paint.Line {
	switch {
	case !selected:
		return paint.Text("  "+name, 0)
	case palette.Color:
		return paint.Join(paint.Text("  ", 0), paint.Text(name, paint.Reverse))
	}
	return paint.Text(" >"+name, paint.Bold)
}

func (m *Menu) cut() string {
	if m.index.cut {
		return "  list cut"
	}
	return ""
}

// scroll finds the first visible path, so that the selected one fits.
func (m *Menu) scroll(space int) {
	for i, n := m.at, 0; i >= 0; i-- {
		if n += gap + paint.TextWidth(shorten(m.found[i], space-gap)); n > space {
			m.first = min(i+1, m.at)
			return
		}
	}
}

// shorten cuts the beginning of a path: its end tells more.
func shorten(path string, space int) string {
	const mark = "..."
	over := paint.TextWidth(path) - space
	if over <= 0 {
		return path
	}
	end := 0
	for g, width := range columns.Graphemes(path) {
		if over+len(mark) <= 0 {
			break
		}
		over -= width
		end += len(g)
	}
	return mark + path[end:]
}
