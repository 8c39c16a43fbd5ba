package lines

import (
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/markdown"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/terminal"
)

// This file lays out rows above a region. The user has just typed the query and watches the job, so
// these rows are short, and say how long something took.

// omits reports whether other lines say what r says.
func (p *Printer) omits(r narrate.Row) bool {
	switch r.Kind {
	case narrate.Start:
		return !r.Minor // the first line has it
	case narrate.Query:
		return r.Depth == 0
	case narrate.Question:
		return p.prompted
	case narrate.Returned:
		return r.State == narrate.Done
	case narrate.Tool:
		return r.Label == narrate.CompletionLabel && r.State == narrate.Done
	}
	return false
}

// drawShort draws what looks different above a region. It reports whether it did.
func (p *Printer) drawShort(r narrate.Row) bool {
	switch {
	case !p.opts.Live:
		return false
	case r.Kind == narrate.Reasoning && !p.opts.Verbose:
		text := "Thought"
		if took := r.At - r.Began; r.Began > 0 && took >= 50 {
			text += " " + strings.Replace(spanText(took), ".0s", "s", 1)
		}
		p.dim(p.enter(r), text)
		return true
	case r.Depth == 0 && (r.Kind == narrate.Message || r.Kind == narrate.Result):
		p.enter(r)
		for _, t := range r.Body {
			for _, l := range p.styled(p.lay(r, p.opts.Redact(terminal.Clean(t.Text)), p.space(1))) {
				p.out.WriteString(l.text + "\n")
			}
		}
		return true
	}
	return false
}

// lay lays out a text of a model, or takes the lines that it was laid out in when it arrived.
func (p *Printer) lay(r narrate.Row, text string, width int) []markdown.Line {
	if p.arrived != nil {
		if lines, ok := p.arrived(r, text, width); ok {
			return lines
		}
	}
	return markdown.Render(text, markdown.Options{Width: width})
}

// introduce notes that r is the row of a delegate. If there is one alone, its rows follow, and need no line
// that names it.
func (p *Printer) introduce(r narrate.Row) {
	switch {
	case !p.opts.Live || r.Kind != narrate.Delegate:
		p.introduced = false
	case p.introduced:
		p.current = ""
	default:
		p.current, p.introduced = r.Child, true
	}
}

const (
	labelColumns = 5  // the labels of most tools have no more
	timeColumn   = 51 // where times end, if what is before them is short enough
)

// pad makes summaries begin in the same column. A longer label is a name, and stands apart.
func pad(label string) string {
	return label + strings.Repeat(" ", max(labelColumns-columns.Of(label), min(columns.Of(label)-labelColumns, 1)))
}

// took says how long a call took; "" if that is not known or not wanted.
func (p *Printer) took(r narrate.Row) string {
	if !p.opts.Live && !p.opts.Times || r.Kind != narrate.Tool || r.Began == 0 || r.State == narrate.Running {
		return ""
	}
	return spanText(r.At - r.Began)
}

// addTime adds how long a call took to the lines of its summary, which begin in a column. If there is no
// space, it has a line of its own.
func (p *Printer) addTime(lines []string, took string, column int) []string {
	if took == "" {
		return lines
	}
	if len(lines) == 0 {
		lines = []string{""}
	}
	width := p.opts.Width
	if width <= 0 {
		width = unknownWidth
	}
	last := &lines[len(lines)-1]
	used := column + columns.Of(*last)
	if used+2+len(took) > width {
		return append(lines, took)
	}
	*last += strings.Repeat(" ", max(min(width, timeColumn)-len(took)-used, 2)) + took
	return lines
}

// compact returns the first line of what a call printed, with a count of the others.
func (p *Printer) compact(t narrate.Text, before int) []line {
	text := strings.Trim(t.Text, "\r\n")
	if text == "" {
		return nil
	}
	first, rest, _ := strings.Cut(text, "\n")
	more := ""
	if rest != "" {
		n := strings.Count(rest, "\n") + 1
		more = fmt.Sprintf("   ... %d more line%s", n, strings.Repeat("s", min(n-1, 1)))
	}
	return []line{{p.fit(p.hide(strings.TrimRight(first, "\r")), before+len(more)) + more, plain}}
}

// isPlain reports whether a row says everything without its body: the path of a file that was read.
func isPlain(r narrate.Row) bool {
	if r.State != narrate.Done || !strings.HasPrefix(r.SkillName, event.BaseSkill) {
		return false
	}
	switch r.Label {
	case "Read", "Delete", "Delete Dir", "Mkdir", "Info", "PDF", "Image":
		return true
	}
	return false
}
