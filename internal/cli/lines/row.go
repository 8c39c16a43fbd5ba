package lines

import (
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/narrate"
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

// bullet says with a colour what a row is, or how it went.
func bullet(r narrate.Row) colour {
	switch r.Kind {
	case narrate.Start, narrate.Query, narrate.Answer:
		return cyan
	case narrate.Reasoning, narrate.Message, narrate.Skill:
		return plain
	}
	switch r.State {
	case narrate.Done:
		return green
	case narrate.Failed:
		return red
	case narrate.Pending:
		return plain
	}
	return yellow
}

// draw writes r. This and dim are the only ways to the output for text from outside.
func (p *Printer) draw(r narrate.Row) {
	if p.opts.Label != nil {
		p.labelled(r)
		return
	}
	if p.drawShort(r) {
		return
	}
	at := p.enter(r)
	margin, mark := p.margin(at), "●"
	if r.State == narrate.Pending {
		mark = "○"
	}
	label := p.fit(p.hide(at.tag+r.Label), len(margin)+2)
	if p.opts.Live {
		label = pad(label)
	}
	column := len(margin) + 3 + columns.Of(label)
	below := p.opts.Width > 0 && p.opts.Width-column < least
	if below {
		column = len(margin) + 2
	}
	summary := p.addTime(p.summary(r, column), p.took(r), column)
	if len(summary) == 0 {
		label = strings.TrimRight(label, " ")
	}
	p.out.WriteString(margin + p.paint(bullet(r), mark) + " " + p.paint(bold, label))
	for i, l := range summary {
		if i > 0 || below {
			p.out.WriteString("\n" + strings.Repeat(" ", column-1))
		}
		p.out.WriteString(" " + p.paint(dim, l))
	}
	p.out.WriteByte('\n')
	p.introduce(r)
	for i, l := range p.body(r, len(margin)+gutter) {
		lead := strings.Repeat(" ", gutter)
		if i == 0 {
			lead = "  └ "
		}
		p.out.WriteString(strings.TrimRight(margin+lead+p.paint(l.colour, l.text), " ") + "\n")
	}
}

const gutter = 4 // columns before a body

// margin is the indentation of a place. A narrow terminal has less of it: text needs columns too.
func (p *Printer) margin(at place) string {
	depth := at.depth
	if p.opts.Width > 0 {
		depth = min(depth, max((p.opts.Width-least-gutter)/2, 0))
	}
	return strings.Repeat("  ", depth)
}

// least is the number of columns that text gets on a tiny terminal: lines that run over are better
// than nothing.
const least = 10

// summary returns what comes after the label, on one line; a command may take several.
func (p *Printer) summary(r narrate.Row, column int) []string {
	if r.Kind == narrate.Tool && r.Argv != nil {
		return p.wrapped(p.command(r), column)
	}
	text := r.Summary
	switch {
	case r.Kind == narrate.Tool && strings.HasPrefix(r.SkillName, event.BaseSkill) && !p.opts.Whole:
		text = shortPath(text, pathCut)
	case r.Kind == narrate.Tool && r.State == narrate.Pending && p.opts.Whole:
		text = r.SkillName // the body has the arguments
	case r.Kind == narrate.Tool && !strings.HasPrefix(r.SkillName, event.BaseSkill) && (p.opts.Verbose || p.opts.Whole):
		text = strings.TrimSpace(r.SkillName + " " + text)
	case r.Kind == narrate.Network && r.Times > 1 && !p.opts.Verbose && !p.opts.Record:
		text += ", " + strconv.Itoa(r.Times) + " times"
	case r.Child != "" && p.opts.Record:
		text = strings.TrimSpace(text + " (run " + r.Child + ")")
	}
	if text = p.hide(text); text == "" {
		return nil
	}
	if !p.opts.Whole {
		if took := p.took(r); took != "" {
			column += len(took) + 2
		}
		text = p.fit(text, column)
	}
	return []string{text}
}

// dim writes a line that is no row.
func (p *Printer) dim(at place, text string) {
	margin := p.margin(at)
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

// fit cleans text and cuts it to what is left of the width after so many columns.
func (p *Printer) fit(text string, before int) string {
	return columns.Shorten(flat(text), p.space(before))
}

// wrapped is fit for text that is wrapped instead of being cut.
func (p *Printer) wrapped(text string, before int) []string {
	if p.opts.Width <= 0 {
		return []string{clean(text)}
	}
	return columns.Wrap(flat(text), p.space(before))
}

// unknownWidth is how many columns a line has where there is no terminal to ask: space
// for what people write. A file may be one line of a megabyte.
const unknownWidth = 200

// space is what is left of the width.
func (p *Printer) space(before int) int {
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
