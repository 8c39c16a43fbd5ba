package lines

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/terminal"
)

const (
	bodyCut = 4    // lines of a body
	pathCut = 60   // characters of a path
	listed  = 3    // entries of a list
	dataCut = 1000 // characters of a provider's own call, which may hold a whole picture
)

// A line is one line of a body.
type line struct {
	text   string
	colour colour
}

// body returns the lines below a row, which begin after so many columns.
func (p *Printer) body(r narrate.Row, before int) []line {
	texts := r.Body
	switch {
	case r.Argv != nil && (r.Kind == narrate.Question || r.Kind == narrate.Answer): // about a command
		texts = slices.Concat([]narrate.Text{{Text: p.command(r), Show: narrate.Whole}}, texts)
	case r.Argv != nil && r.Kind != narrate.Tool:
		texts = []narrate.Text{{Text: p.command(r), Show: narrate.Whole}}
	case p.opts.Whole && r.State == narrate.Pending && r.Args != nil:
		texts = []narrate.Text{{Text: string(r.Args)}}
	case p.opts.Whole && r.Kind == narrate.Tool && r.Output != "":
		texts = []narrate.Text{{Text: r.Output}}
	case p.opts.Whole && r.Kind == narrate.Limit:
		texts = append(slices.Clip(texts), narrate.Text{Text: r.Output})
	case p.opts.Whole && r.Kind == narrate.Provider:
		texts = []narrate.Text{{Text: Cut(string(r.Args), dataCut)}}
	}
	if p.opts.Live && !p.opts.Verbose && isPlain(r) {
		texts = nil
	}
	var lines []line
	for _, t := range texts {
		switch {
		case p.opts.Live && r.Kind == narrate.Tool && t.Show == narrate.Head && t.Style == narrate.Plain && !p.opts.Verbose:
			lines = append(lines, p.compact(t, before)...)
		case p.opts.Markdown && p.opts.Width > 0 && (r.Kind == narrate.Message || r.Kind == narrate.Result):
			lines = append(lines, p.markdown(t, before)...)
		default:
			lines = append(lines, p.text(t, before)...)
		}
	}
	for _, remedy := range Remedies(r.Remedy) {
		lines = append(lines, p.text(narrate.Text{Text: remedy, Show: narrate.Whole}, before)...)
	}
	return lines
}

// text returns the lines of a part of a body.
func (p *Printer) text(t narrate.Text, before int) []line {
	c, mark := plain, ""
	switch t.Style {
	case narrate.Quiet:
		c = dim
	case narrate.Added:
		c, mark = green, "+"
	case narrate.Removed:
		c, mark = red, "-"
	case narrate.Bad:
		c = red
	}
	show := p.show(t)
	if show == narrate.Whole || show == narrate.Prose {
		return p.prose(t.Text, mark, c, before, show)
	}
	most := bodyCut
	switch show {
	case narrate.First:
		most = 1
	case narrate.List:
		most = listed
	}
	if t.Text = strings.TrimRight(t.Text, "\r\n"); t.Text == "" {
		return nil
	}
	all := strings.Split(t.Text, "\n")
	var lines []line
	if rest := len(all) - most; show == narrate.Tail && rest > 0 {
		all = all[rest:]
		lines = append(lines, line{fmt.Sprintf("... +%d before", rest), dim})
	}
	for _, l := range all[:min(most, len(all))] {
		lines = append(lines, line{p.fit(mark+p.hide(strings.TrimRight(l, "\r")), before), c})
	}
	return more(lines, len(all)-most)
}

// show says how much of a text is shown.
func (p *Printer) show(t narrate.Text) narrate.Show {
	written := t.Show == narrate.Prose && t.Style != narrate.Quiet // thoughts are quiet
	if p.opts.Whole || p.opts.Record && t.Show == narrate.First || p.opts.Texts && (written || t.Show == narrate.First) {
		return narrate.Whole
	}
	return t.Show
}

// prose returns text that is wrapped: the first lines, or all of them.
func (p *Printer) prose(text, mark string, c colour, before int, show narrate.Show) []line {
	text = strings.Trim(terminal.Clean(text), "\n")
	if text == "" {
		return nil
	}
	var lines []line
	for l := range strings.SplitSeq(text, "\n") {
		l = mark + p.hide(l)
		if p.opts.Width <= 0 && show == narrate.Prose {
			l = columns.Shorten(clean(l), bodyCut*unknownWidth)
		}
		for _, part := range p.wrapped(l, before) {
			lines = append(lines, line{part, c})
		}
	}
	if rest := len(lines) - bodyCut; show == narrate.Prose && rest > 0 {
		return more(lines[:bodyCut], rest)
	}
	return lines
}

// more adds a line that counts the rest.
func more(lines []line, rest int) []line {
	if rest > 0 {
		lines = append(lines, line{fmt.Sprintf("... +%d more", rest), dim})
	}
	return lines
}

// Cut returns the first n characters of text and "..." if there are more.
func Cut(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n]) + "..."
	}
	return text
}

// shortPath shortens a path of more than n characters to its end. Paths with fewer than
// three segments stay, since little would be left of them.
func shortPath(name string, n int) string {
	slashed := strings.ReplaceAll(name, `\`, "/")
	if len([]rune(name)) <= n || strings.Count(strings.Trim(slashed, "/"), "/") < 2 {
		return name
	}
	parent, file := path.Split(slashed)
	short := ".../" + path.Base(parent) + "/" + file
	if len([]rune(short)) > n {
		short = ".../" + file
	}
	return short
}
