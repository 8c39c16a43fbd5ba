package markdown

import (
	"strings"

	"github.com/perstack-go/perstack/internal/columns"
)

// table aligns the entries of a table. If they do not fit, each row is a list of its entries with their
// headings.
func (l *layout) table(n node) {
	var rows [][][]Span
	widths := make([]int, len(n.right))
	for i, texts := range n.rows {
		style := Style(0)
		if i == 0 {
			style = Bold
		}
		var row [][]Span
		for j, text := range texts {
			entry := flat(inline(text, style))
			row = append(row, entry)
			widths[j] = max(widths[j], width(entry))
		}
		rows = append(rows, row)
	}
	total := 2 * (len(widths) - 1)
	for _, w := range widths {
		total += w
	}
	if total <= l.space() {
		l.aligned(n, rows, widths)
		return
	}
	for i, row := range rows[1:] {
		if i > 0 {
			l.put(nil)
		}
		for j, entry := range row {
			l.prose(append(append(clone(rows[0][j]), Span{": ", 0}), entry...))
		}
	}
}

func (l *layout) aligned(n node, rows [][][]Span, widths []int) {
	for i, row := range rows {
		var line []Span
		for j, entry := range row {
			blanks := strings.Repeat(" ", widths[j]-width(entry))
			if n.right[j] {
				line = append(append(line, Span{blanks, 0}), entry...)
			} else {
				line = append(append(line, entry...), Span{blanks, 0})
			}
			line = append(line, Span{"  ", 0})
		}
		l.put(line)
		if i == 0 {
			var rule strings.Builder
			for _, w := range widths {
				rule.WriteString(strings.Repeat(l.choose("─", "-"), w) + "  ")
			}
			l.put([]Span{{rule.String(), Quiet}})
		}
	}
}

// flat returns spans without line feeds.
func flat(spans []Span) (out []Span) {
	for _, s := range spans {
		out = append(out, Span{strings.NewReplacer("\n", " ", "\t", " ").Replace(s.Text), s.Style})
	}
	return out
}

func width(spans []Span) (n int) {
	for _, s := range spans {
		n += columns.Of(s.Text)
	}
	return n
}
