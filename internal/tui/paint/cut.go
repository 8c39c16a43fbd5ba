package paint

import (
	"strings"

	"github.com/perstack-go/perstack/internal/columns"
)

// more shows that a line was cut.
const more = "..."

// Cut returns a line of at most so many columns. One that is longer ends in "...", if there is space
// for that.
func Cut(line Line, space int) Line {
	if fits(line, space) {
		return line
	}
	mark := more[:max(0, min(len(more), space))]
	line, _ = Split(line, space-len(mark))
	return Join(line[:len(line):len(line)], Text(mark, 0))
}

// CutText is [Cut] for a text.
func CutText(text string, space int) string { return Cut(Text(text, 0), space).Text() }

// Fit returns a line of exactly so many columns: cut, or filled with blanks.
func Fit(line Line, space int) Line {
	line = Cut(line, space)
	if missing := space - Width(line); missing > 0 {
		return Join(line[:len(line):len(line)], Text(strings.Repeat(" ", missing), 0))
	}
	return line
}

// fits stops at the first column that is too much: a line can be long.
func fits(line Line, space int) bool {
	for _, s := range line {
		for _, width := range columns.Graphemes(s.Text) {
			if space -= width; space < 0 {
				return false
			}
		}
	}
	return space >= 0
}

// Split returns as much of a line as fits into so many columns, and the rest.
func Split(line Line, space int) (fit, rest Line) {
	for i, s := range line {
		end := 0
		for g, width := range columns.Graphemes(s.Text) {
			if space -= width; space < 0 {
				break
			}
			end += len(g)
		}
		if end == len(s.Text) {
			continue
		}
		fit = Join(line[:i], Text(s.Text[:end], s.Style))
		return fit, Join(Text(s.Text[end:], s.Style), line[i+1:])
	}
	return line, nil
}

// Highlight adds a style to the bytes from begin to end of a line's text.
func Highlight(line Line, begin, end int, style Style) (out Line) {
	at := 0
	for _, s := range line {
		from, to := min(max(begin-at, 0), len(s.Text)), min(max(end-at, 0), len(s.Text))
		if to <= from {
			out = append(out, s)
		} else {
			out = Join(out, Text(s.Text[:from], s.Style), Text(s.Text[from:to], s.Style|style), Text(s.Text[to:], s.Style))
		}
		at += len(s.Text)
	}
	return out
}
