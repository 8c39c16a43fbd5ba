package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/markdown"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A row draws a row of a job. The pager keeps its lines.
type row struct {
	p      *program
	expert string // the coordinator, which rows do not name
	row    narrate.Row
}

const (
	bodyLines  = 4 // of a body that is cut
	rowIndent  = 2 // columns a level of delegation
	maxIndent  = 8
	labelSpace = 5 // columns that a name gets at least, so that texts are below each other
)

func (r *row) Render(width int) []paint.Line {
	indent := min(r.row.Depth*rowIndent, maxIndent, width/4)
	lines := r.lines(max(width-indent, 1))
	if indent == 0 {
		return lines
	}
	margin := paint.Text(strings.Repeat(" ", indent), 0)
	for i, line := range lines {
		lines[i] = paint.Join(margin, line)
	}
	return lines
}

// Text is all that a search can find.
func (r *row) Text() string {
	var b strings.Builder
	b.WriteString(r.name() + " " + r.about())
	for _, t := range r.row.Body {
		b.WriteString(" " + r.p.clean(t.Text))
	}
	return b.String()
}

// lines draws the row without its indentation.
func (r *row) lines(width int) []paint.Line {
	switch r.row.Kind {
	case narrate.Query:
		return r.said(width, "You", paint.Cyan, false)
	case narrate.Message, narrate.Result:
		return r.said(width, r.name(), paint.Green, true)
	case narrate.Reasoning:
		text := "Thought"
		if d := r.duration(); d != "" {
			text += " " + d
		}
		return []paint.Line{paint.Text(text, paint.Quiet)}
	case narrate.Start:
		var lines []paint.Line
		for _, part := range fold(r.about(), width) {
			lines = append(lines, paint.Text(part, paint.Quiet))
		}
		return lines
	}
	return append(r.head(width), r.body(width)...)
}

// name is who or what the row is about.
func (r *row) name() string {
	switch r.row.Kind {
	case narrate.Query:
		return "You"
	case narrate.Message, narrate.Result:
		if r.row.Expert != "" {
			return r.p.cleanLine(r.row.Expert)
		}
		return r.p.cleanLine(r.expert)
	}
	if r.row.Parallel && r.row.Expert != "" {
		return r.p.cleanLine("[" + r.row.Expert + "] " + r.row.Label)
	}
	return r.p.cleanLine(r.row.Label)
}

// about is what stands after the name.
func (r *row) about() string {
	if r.row.Argv == nil {
		return r.p.cleanLine(r.row.Summary)
	}
	return r.p.command(r.row.Argv, r.row.Dir)
}

// command writes a command as one could type it in a shell. Secrets go before the quotation marks come:
// quoted, they would not be known any more.
func (p *program) command(argv []string, dir string) string {
	words := make([]string, len(argv))
	for i, word := range argv {
		if clean := terminal.Clean(word); p.opts.Redact(clean) != clean {
			word = p.opts.Redact(clean)
		}
		words[i] = terminal.ShellJoin(word)
	}
	text := p.cleanLine(strings.Join(words, " "))
	if dir != "" && dir != "." {
		text += " (in " + p.cleanLine(dir) + ")"
	}
	return text
}

// duration says how long a call took; nothing for one that did not start or has not ended.
func (r *row) duration() string {
	if r.row.Began == 0 || r.row.At < r.row.Began || r.row.State == narrate.Running || r.row.State == narrate.Pending || r.row.State == narrate.Waiting {
		return ""
	}
	return span(time.Duration(r.row.At-r.row.Began) * time.Millisecond)
}

// span writes a duration briefly.
func span(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// mark shows the state of a row: by a colour, and by the sign itself.
func (p *program) mark(s narrate.State) paint.Line {
	switch s {
	case narrate.Pending:
		return paint.Text(p.palette.Mark("○", "o"), paint.Quiet)
	case narrate.Running:
		return paint.Text(p.palette.Mark("▸", ">"), paint.Cyan)
	case narrate.Waiting:
		return paint.Text("?", paint.Magenta|paint.Bold)
	case narrate.Warning, narrate.Unknown:
		return paint.Text("!", paint.Magenta|paint.Bold)
	case narrate.Failed:
		return paint.Text(p.palette.Mark("✗", "x"), paint.Red|paint.Bold)
	}
	return paint.Text(p.palette.Mark("●", "*"), paint.Green)
}

// head is the first line: a mark, a name, what it is about, and how long it took.
func (r *row) head(width int) []paint.Line {
	name := paint.Text(paint.CutText(r.name(), max(width-2, 1)), paint.Bold)
	first := paint.Join(r.p.mark(r.row.State), paint.Text(" ", 0), name)
	took := r.duration()
	about := r.about()
	before := paint.Width(first) + 2
	space := width - before - len(took)
	if took != "" {
		space -= 2
	}
	if about == "" || space < 10 && width < 20 {
		return []paint.Line{r.right(first, took, width)}
	}
	if r.row.Argv == nil {
		about = paint.CutText(about, max(space, 1))
		return []paint.Line{r.right(paint.Join(first, paint.Text("  "+about, 0)), took, width)}
	}
	var lines []paint.Line // a command is wrapped, never cut in the middle
	for i, part := range fold(about, max(space, 10)) {
		if i == 0 {
			lines = append(lines, r.right(paint.Join(first, paint.Text("  "+part, 0)), took, width))
			continue
		}
		lines = append(lines, paint.Text(strings.Repeat(" ", before)+part, 0))
	}
	return lines
}

// right puts a duration at the right edge.
func (r *row) right(line paint.Line, took string, width int) paint.Line {
	if took == "" {
		return line
	}
	return paint.Join(paint.Fit(line, max(width-len(took)-1, 0)), paint.Text(took+" ", paint.Quiet))
}

// said draws what a person or a model wrote, after its name.
func (r *row) said(width int, name string, style paint.Style, isMarkdown bool) (lines []paint.Line) {
	name = paint.CutText(name, max(width/3, 3))
	before := max(paint.TextWidth(name), labelSpace) + 1
	space := max(width-before, 1)
	for _, t := range r.row.Body {
		part := r.prose(t.Text, space, isMarkdown)
		if isMarkdown && t.Show == narrate.Prose && r.row.Depth > 0 {
			part = cutLines(part, bodyLines)
		}
		lines = append(lines, part...)
	}
	if len(lines) == 0 {
		lines = []paint.Line{nil}
	}
	for i, line := range lines {
		lead := paint.Text(strings.Repeat(" ", before), 0)
		if i == 0 {
			lead = paint.Fit(paint.Text(name, style|paint.Bold), before)
		}
		lines[i] = paint.Join(lead, line)
	}
	return lines
}

// prose lays out text that is wrapped.
func (r *row) prose(text string, space int, isMarkdown bool) []paint.Line {
	if isMarkdown && space >= markdown.MinWidth {
		return markdown.Render(r.p.clean(text), markdown.Options{Width: space, ASCII: !r.p.palette.Unicode})
	}
	return r.p.wrap(text, space)
}

// wrap lays out text from outside as lines.
func (p *program) wrap(text string, space int) (lines []paint.Line) {
	text = strings.Trim(p.clean(text), "\n")
	if text == "" {
		return nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		for _, part := range fold(line, space) {
			lines = append(lines, paint.Text(part, 0))
		}
	}
	return lines
}

// fold breaks a line between words, and a word that is too long anywhere.
func fold(line string, space int) (parts []string) {
	space = max(space, 1)
	for _, part := range columns.Wrap(strings.ReplaceAll(line, "\t", "    "), space) {
		parts = append(parts, columns.Break(part, space)...)
	}
	return parts
}

// cutLines leaves the first lines, and counts the rest.
func cutLines(lines []paint.Line, most int) []paint.Line {
	if rest := len(lines) - most; rest > 0 {
		return append(lines[:most:most], paint.Text(fmt.Sprintf("... %d more lines", rest), paint.Quiet))
	}
	return lines
}

// body draws what is below the first line. The detail of the row has all of it.
func (r *row) body(width int) []paint.Line {
	var lines []paint.Line
	space := max(width-4, 1)
	switch {
	case r.row.Tail != "" && r.row.State == narrate.Running:
		lines = []paint.Line{paint.Cut(paint.Text(r.p.cleanLine(r.row.Tail), paint.Quiet), space)}
	case r.row.Kind == narrate.Delegate: // its answer has a row in its own Run
	case r.row.Kind == narrate.Tool && r.row.State == narrate.Done && r.row.Label == "Read":
	default:
		for _, t := range r.row.Body {
			lines = append(lines, r.text(t, space)...)
		}
	}
	for i, line := range lines {
		lead := paint.Text("    ", 0)
		if i == 0 {
			lead = paint.Text(r.p.palette.Mark("  └ ", "  - "), paint.Quiet)
		}
		lines[i] = paint.Join(lead, line)
	}
	return lines
}

// text draws a part of a body.
func (r *row) text(t narrate.Text, space int) []paint.Line {
	style, mark := paint.Style(0), ""
	switch t.Style {
	case narrate.Quiet:
		style = paint.Quiet
	case narrate.Added:
		style, mark = paint.Green, "+"
	case narrate.Removed:
		style, mark = paint.Red, "-"
	case narrate.Bad:
		style = paint.Red
	}
	if t.Show == narrate.First && r.row.Kind == narrate.Failure {
		t.Show = narrate.Whole // nothing else says why the job stopped
	}
	if t.Show == narrate.Whole || t.Show == narrate.Prose {
		lines := r.p.wrap(t.Text, space)
		for i := range lines {
			lines[i] = paint.Restyle(lines[i], style)
		}
		if t.Show == narrate.Prose {
			return cutLines(lines, bodyLines)
		}
		return lines
	}
	all := strings.Split(strings.Trim(r.p.clean(t.Text), "\n"), "\n")
	if len(all) == 1 && all[0] == "" {
		return nil
	}
	most := map[narrate.Show]int{narrate.First: 1, narrate.List: 3}[t.Show]
	if most == 0 {
		most = bodyLines
	}
	var lines []paint.Line
	if rest := len(all) - most; t.Show == narrate.Tail && rest > 0 {
		lines, all = append(lines, paint.Text(fmt.Sprintf("... %d lines before", rest), paint.Quiet)), all[rest:]
	}
	for _, line := range all[:min(most, len(all))] {
		lines = append(lines, paint.Cut(paint.Text(mark+strings.ReplaceAll(line, "\t", "    "), style), space))
	}
	if rest := len(all) - most; rest > 0 && t.Show != narrate.First {
		lines = append(lines, paint.Text(fmt.Sprintf("... %d more lines", rest), paint.Quiet))
	}
	return lines
}

// rowText is all of a row as plain text, for the clipboard.
func rowText(r narrate.Row) string {
	if r.Output != "" {
		return r.Output
	}
	parts := make([]string, 0, len(r.Body))
	for _, t := range r.Body {
		parts = append(parts, t.Text)
	}
	if len(parts) == 0 {
		return strings.TrimSpace(r.Label + " " + r.Summary)
	}
	return strings.Join(parts, "\n")
}
