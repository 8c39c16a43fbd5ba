package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/perstack-go/perstack/internal/columns"
)

// wrap breaks spans into lines of at most so many columns. A word that is longer is broken, too.
func wrap(spans []Span, space int) (lines [][]Span) {
	var all strings.Builder
	for _, s := range spans {
		all.WriteString(strings.ReplaceAll(s.Text, "\t", " "))
	}
	styles := styleReader{spans: spans}
	for part := range strings.SplitSeq(strings.TrimSpace(all.String()), "\n") {
		for _, wrapped := range columns.Wrap(strings.TrimSpace(part), space) {
			for _, line := range columns.Break(wrapped, space) {
				lines = append(lines, styles.read(line))
			}
		}
	}
	return lines
}

// A styleReader gives the characters of lines back the styles that they had before the text was
// wrapped. Wrapping only drops blanks.
type styleReader struct {
	spans []Span
	at    int // in the text of the first span
}

func (r *styleReader) read(line string) (out []Span) {
	for _, c := range line {
		style, ok := r.next(c)
		if !ok {
			style = 0
		}
		if last := len(out) - 1; last >= 0 && out[last].Style == style {
			out[last].Text += string(c)
		} else {
			out = append(out, Span{string(c), style})
		}
	}
	return out
}

// next finds the next character of the text that is this one.
func (r *styleReader) next(want rune) (Style, bool) {
	for len(r.spans) > 0 {
		s := r.spans[0]
		if r.at >= len(s.Text) {
			r.spans, r.at = r.spans[1:], 0
			continue
		}
		c, size := utf8.DecodeRuneInString(s.Text[r.at:])
		r.at += size
		if c == '\t' {
			c = ' '
		}
		if c == want {
			return s.Style, true
		}
	}
	return 0, false
}
