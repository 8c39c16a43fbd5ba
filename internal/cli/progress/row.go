package progress

import (
	"strings"

	"github.com/perstack-go/perstack/internal/cli/host"
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
	whole   bool // the body is not cut to the width
}

// A line is one line of a body.
type line struct {
	text   string
	colour colour
}

// draw writes r. It is the only way to the output for text from outside.
func (p *Printer) draw(depth int, r row) {
	margin := strings.Repeat("  ", depth)
	label := p.fit(r.label, len(margin)+2)
	p.out.WriteString(margin + p.paint(r.bullet, "●") + " " + p.paint(bold, label))
	if summary := p.fit(r.summary, len(margin)+3+len([]rune(label))); summary != "" {
		p.out.WriteString(" " + p.paint(dim, summary))
	}
	p.out.WriteByte('\n')
	for i, l := range r.body {
		lead := "    "
		if i == 0 {
			lead = "  └ "
		}
		text := clean(l.text)
		if !r.whole {
			text = p.fit(text, len(margin)+4)
		}
		p.out.WriteString(strings.TrimRight(margin+lead+p.paint(l.colour, text), " ") + "\n")
	}
}

// title writes a line that stands above rows.
func (p *Printer) title(depth int, text string) {
	margin := strings.Repeat("  ", depth)
	p.out.WriteString(margin + p.paint(dim, p.fit(text, len(margin))) + "\n")
}

// clean makes text safe for one line of a terminal. Unlike [host.CleanLine] it keeps
// blanks, since the indentation of code matters.
func clean(text string) string {
	return strings.ReplaceAll(host.Clean(text), "\n", " ")
}

// fit cleans text and cuts it to what is left of the width behind that many columns.
// Without a width it stays as long as it is.
func (p *Printer) fit(text string, columns int) string {
	text = strings.ReplaceAll(clean(text), "\t", "    ")
	if p.opts.Width <= 0 {
		return text
	}
	const least = 10 // on a tiny terminal, wrapping is better than nothing
	room := max(p.opts.Width-columns, least)
	if len([]rune(text)) <= room {
		return text
	}
	return cut(text, room-len("..."))
}

// paint colours text that has been cleaned.
func (p *Printer) paint(c colour, text string) string {
	if !p.opts.Color || c == plain || text == "" {
		return text
	}
	return string(c) + text + reset
}
