package progress

import (
	"strings"

	"github.com/perstack-go/perstack/internal/terminal"
)

// A colour is the sequence that switches it on; empty leaves text as it is.
type colour string

const (
	plain  colour = ""
	bold   colour = "\x1b[1m" // labels: white would vanish on a light background
	dim    colour = "\x1b[2m"
	red    colour = "\x1b[31m"
	green  colour = "\x1b[32m"
	yellow colour = "\x1b[33m"
	cyan   colour = "\x1b[36m"
	reset         = "\x1b[0m"
)

// A row is one finding, not cleaned and not cut yet.
type row struct {
	bullet  colour
	label   string
	summary string
	body    []line
	whole   bool // lines of the body are wrapped, not cut to the width
	limit   int  // of lines after wrapping; 0 for none
}

// A line is one line of a body.
type line struct {
	text   string
	colour colour
}

// draw writes r. It is the only way to the output for text from outside.
func (p *Printer) draw(at place, r row) {
	r.label, r.summary = p.hide(at.tag+r.label), p.hide(r.summary)
	margin := strings.Repeat("  ", at.depth)
	label := p.fit(r.label, len(margin)+2)
	p.out.WriteString(margin + p.paint(r.bullet, "●") + " " + p.paint(bold, label))
	if summary := p.fit(r.summary, len(margin)+3+columns(label)); summary != "" {
		p.out.WriteString(" " + p.paint(dim, summary))
	}
	p.out.WriteByte('\n')
	for i, l := range p.layOut(r, len(margin)+gutter) {
		lead := strings.Repeat(" ", gutter)
		if i == 0 {
			lead = "  └ "
		}
		p.out.WriteString(strings.TrimRight(margin+lead+p.paint(l.colour, l.text), " ") + "\n")
	}
}

const gutter = 4 // columns before a body

// layOut makes the lines of r fit behind so many columns.
func (p *Printer) layOut(r row, before int) []line {
	var lines []line
	for _, l := range r.body {
		l.text = p.hide(l.text)
		switch {
		case !r.whole:
			lines = append(lines, line{p.fit(l.text, before), l.colour})
		case p.opts.Width <= 0 && r.limit > 0:
			lines = append(lines, line{shorten(clean(l.text), r.limit*unknownWidth), l.colour})
		case p.opts.Width <= 0:
			lines = append(lines, line{clean(l.text), l.colour})
		default:
			for _, text := range wrap(flat(l.text), p.room(before)) {
				lines = append(lines, line{text, l.colour})
			}
		}
	}
	if r.limit > 0 && len(lines) > r.limit {
		lines = more(lines[:r.limit:r.limit], len(lines))
	}
	return lines
}

// title writes a line that stands above rows.
func (p *Printer) title(at place, text string) {
	margin := strings.Repeat("  ", at.depth)
	p.out.WriteString(margin + p.paint(dim, p.fit(p.hide(at.tag+text), len(margin))) + "\n")
}

// hide takes secrets out of text, before it is wrapped or cut: afterwards a half would
// not be known. It is cleaned first, since what is removed may stand inside a secret.
func (p *Printer) hide(text string) string { return p.opts.Redact(clean(text)) }

// clean makes text safe for one line of a terminal. Unlike [terminal.CleanLine] it keeps
// blanks, since the indentation of code matters.
func clean(text string) string {
	return strings.ReplaceAll(terminal.Clean(text), "\n", " ")
}

// flat is clean for text whose columns are counted.
func flat(text string) string { return strings.ReplaceAll(clean(text), "\t", "    ") }

// fit cleans text and cuts it to what is left of the width behind so many columns.
func (p *Printer) fit(text string, before int) string {
	return shorten(flat(text), p.room(before))
}

// unknownWidth is how many columns a line has where there is no terminal to ask: room
// for what people write. A file may be one line of a megabyte.
const unknownWidth = 200

// room is what is left of the width. On a tiny terminal, lines that run over are better
// than nothing.
func (p *Printer) room(before int) int {
	const least = 10
	if p.opts.Width <= 0 {
		return unknownWidth
	}
	return max(p.opts.Width-before, least)
}

// paint colours text that has been cleaned.
func (p *Printer) paint(c colour, text string) string {
	if !p.opts.Color || c == plain || text == "" {
		return text
	}
	return string(c) + text + reset
}
