// Package paint cuts, fills and draws the styled lines of the terminal program. Its lines are those of
// internal/markdown, with colours and reverse video added to the styles.
//
// The colours are those of the terminal, and none of them is white or yellow: text must be readable
// on light and on dark. Without colours only bold text and the characters themselves are left, so
// what a colour says a mark says, too. The package cleans nothing: see internal/terminal. Start
// reading at [Palette].
package paint

import (
	"strings"

	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/markdown"
)

type (
	// A Line is a line of Markdown.
	Line = markdown.Line
	// A Span is text in one style.
	Span = markdown.Span
	// A Style says how a text is set. Styles add up.
	Style = markdown.Style
)

// The styles. Those of Markdown are before 1<<8.
const (
	Bold  = markdown.Bold
	Quiet = markdown.Quiet

	Reverse Style = 1 << (8 + iota) // what is selected or found
	Red
	Green
	Blue
	Magenta
	Cyan
)

// A Palette says what the terminal can show.
type Palette struct {
	Color   bool // else NO_COLOR or the like is set
	Unicode bool // else marks are ASCII
}

// Mark chooses a mark that the terminal can show.
func (p Palette) Mark(unicode, ascii string) string {
	if p.Unicode {
		return unicode
	}
	return ascii
}

// attributes are the numbers that switch a style on, in the order in which they are written.
var attributes = []struct {
	style Style
	code  string
}{
	{Bold, "1"}, {Quiet, "2"}, {markdown.Italic, "3"}, {Reverse, "7"}, {markdown.Struck, "9"},
	{Red, "31"}, {Green, "32"}, {Blue, "34"}, {Magenta, "35"}, {Cyan, "36"}, {markdown.Code, "36"},
}

const reset = "\x1b[0m"

// Draw returns a line with the sequences that show its styles.
func (p Palette) Draw(line Line) string {
	var out strings.Builder
	for _, s := range line {
		on := p.sequence(s.Style)
		out.WriteString(on + s.Text)
		if on != "" {
			out.WriteString(reset)
		}
	}
	return out.String()
}

// sequence returns what switches a style on. Without colours, bold shows what is selected.
func (p Palette) sequence(style Style) string {
	if !p.Color {
		if style&(Bold|Reverse) != 0 {
			return "\x1b[1m"
		}
		return ""
	}
	var codes []string
	for _, a := range attributes {
		if style&a.style != 0 {
			codes = append(codes, a.code)
		}
	}
	if codes == nil {
		return ""
	}
	return "\x1b[" + strings.Join(codes, ";") + "m"
}

// Screen draws lines one below the other.
func (p Palette) Screen(lines []Line) string {
	drawn := make([]string, len(lines))
	for i, line := range lines {
		drawn[i] = p.Draw(line)
	}
	return strings.Join(drawn, "\n")
}

// Text returns a line in one style.
func Text(text string, style Style) Line {
	if text == "" {
		return nil
	}
	return Line{{Text: text, Style: style}}
}

// Join puts lines beside each other.
func Join(lines ...Line) (joined Line) {
	for _, line := range lines {
		joined = append(joined, line...)
	}
	return joined
}

// Restyle returns a line with a style added to all of it.
func Restyle(line Line, style Style) Line {
	out := make(Line, len(line))
	for i, s := range line {
		out[i] = Span{Text: s.Text, Style: s.Style | style}
	}
	return out
}

// Width is how many columns a line takes.
func Width(line Line) int {
	n := 0
	for _, s := range line {
		n += TextWidth(s.Text)
	}
	return n
}

// TextWidth is how many columns a text takes where graphemes are drawn as one.
func TextWidth(text string) int {
	n := 0
	for _, width := range columns.Graphemes(text) {
		n += width
	}
	return n
}
