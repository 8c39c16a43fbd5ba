package tui

import (
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/tui/list"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A listing is a list that is read from the project. It says so while it has nothing to show: it
// loads, it could not be read, or there is nothing.
type listing struct {
	p     *program
	list  *list.List
	ready bool  // the items have come
	err   error // instead of them
	empty []string

	filters   bool // letters are a filter, always
	filtering bool // they are one now, after a "/"
}

func newListing(p *program, source list.Source, empty ...string) listing {
	return listing{p: p, list: list.New(source), empty: empty}
}

// set takes what was read.
func (l *listing) set(source list.Source, err error) {
	if l.err = err; err != nil {
		return
	}
	l.ready = true
	l.list.SetSource(source)
}

// render draws the list below a line with the filter, if there is one.
func (l *listing) render(width, height int, above ...paint.Line) view {
	switch {
	case l.err != nil:
		return view{lines: l.p.problem(l.err, width)}
	case !l.ready:
		return view{lines: []paint.Line{paint.Text("   loading", paint.Quiet)}}
	case l.list.Len() == 0 && l.list.Filter() == "":
		return view{lines: l.p.sentences(l.empty, 0, width)}
	}
	v := view{lines: above}
	if l.filters || l.filtering || l.list.Filter() != "" {
		input := paint.Join(paint.Text(" / ", paint.Cyan), paint.Text(l.p.cleanLine(l.list.Filter()), 0))
		v.cursor, v.x, v.y = l.filters || l.filtering, min(paint.Width(input), width-1), len(v.lines)
		if l.list.Filter() == "" {
			input = paint.Join(input, paint.Text("type to filter", paint.Quiet))
		}
		v.lines = append(v.lines, paint.Cut(input, width))
	}
	rest := height - len(v.lines)
	v.lines = append(v.lines, l.list.Render(width, rest, l.p.palette)...)
	return v
}

// position says which item is selected, if not all of them are visible: " (3/120)".
func (l *listing) position() string {
	if text := l.list.Position(); text != "" {
		return " " + text
	}
	return ""
}

// key moves in the list, and types into the filter.
func (l *listing) key(k key) bool {
	typing := l.filters || l.filtering
	switch {
	case !l.ready || l.err != nil:
		return false
	case typing && k.text != "":
		l.list.Type(k.text)
		return true
	case l.filtering && (k.name == "enter" || k.name == "esc" && l.list.Filter() == ""):
		l.filtering = false
		return true
	case k.name == "backspace" && !typing:
		return false
	}
	taken := l.list.Key(k.name)
	if taken && k.name == "esc" {
		l.filtering = false
	}
	return taken
}

// filter lets the user type a filter.
func (l *listing) filter() { l.filtering = true }

// problem shows an error in the place of what could not be read. The part after the semicolon is
// what the user can do.
func (p *program) problem(err error, width int) []paint.Line {
	text, hint, _ := strings.Cut(p.clean(err.Error()), "; ")
	lines := p.sentences([]string{p.palette.Mark("✗ ", "x ") + text}, paint.Red, width)
	if hint != "" {
		lines = append(lines, p.sentences([]string{hint}, 0, width)...)
	}
	return lines
}

// sentences draws text that is clean, broken at the width.
func (p *program) sentences(texts []string, style paint.Style, width int) (lines []paint.Line) {
	for _, text := range texts {
		for line := range strings.SplitSeq(strings.ReplaceAll(text, "\t", "    "), "\n") {
			for _, part := range columns.Break(line, max(width-6, minWidth/2)) {
				lines = append(lines, paint.Text("   "+strings.TrimPrefix(part, " "), style))
			}
		}
	}
	return lines
}

func rowName(i int) string { return strconv.Itoa(i) }

// A column is a part of a line that has a width of its own.
type column struct {
	text  string // clean
	width int    // 0 takes what it needs, and is left out if there is no text
	style paint.Style
	right bool // aligned to the right
}

// inColumns puts columns beside each other, with a blank between them.
func inColumns(columns ...column) (line paint.Line) {
	for _, c := range columns {
		if c.width == 0 && c.text == "" {
			continue
		}
		if len(line) > 0 {
			line = append(line, paint.Span{Text: " "})
		}
		text := paint.Text(c.text, c.style)
		switch {
		case c.width == 0:
		case c.right:
			if missing := c.width - paint.Width(text); missing > 0 {
				text = paint.Join(paint.Text(strings.Repeat(" ", missing), 0), text)
			}
			text = paint.Cut(text, c.width)
		default:
			text = paint.Fit(text, c.width)
		}
		line = paint.Join(line, text)
	}
	return line
}
