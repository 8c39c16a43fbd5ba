package tui

import (
	"errors"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/tui/pager"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A viewer shows a text from its beginning, and searches in it. Diffs, details and records are shown
// in one.
type viewer struct {
	p     *program
	name  string
	pager pager.Pager
	ready bool   // the text has come
	err   error  // instead of it
	text  string // what is copied
	what  string // what it is, as in "the result"

	moved         bool // the user has scrolled; else the beginning is shown
	width, height int
	searching     bool
	query         string
}

// A viewerRow is a line of the text.
type viewerRow struct {
	text   string // clean
	style  paint.Style
	indent int // of the lines that it is broken into
}

func (r viewerRow) Text() string { return r.text }

func (r viewerRow) Render(width int) (lines []paint.Line) {
	if r.text == "" {
		return []paint.Line{nil}
	}
	for i, part := range columns.Break(r.text, max(width-r.indent, minWidth/2)) {
		if i > 0 {
			part = strings.Repeat(" ", r.indent) + strings.TrimPrefix(part, " ")
		}
		lines = append(lines, paint.Text(part, r.style))
	}
	return lines
}

// add adds a text, line by line.
func (v *viewer) add(text string, style paint.Style) {
	for line := range strings.SplitSeq(strings.TrimRight(v.p.clean(text), "\n"), "\n") {
		v.addLine(line, style)
	}
}

// addLine adds a line that is clean.
func (v *viewer) addLine(line string, style paint.Style) {
	row := viewerRow{text: strings.ReplaceAll(line, "\t", "    "), style: style}
	v.pager.Put(rowName(v.pager.Len()), row)
}

func (v *viewer) title() string { return v.name }

func (v *viewer) render(width, height int) view {
	switch {
	case v.err != nil:
		return view{lines: v.p.problem(v.err, width)}
	case !v.ready:
		return view{lines: []paint.Line{paint.Text("   loading", paint.Quiet)}}
	case v.searching:
		height--
	}
	if !v.moved && (width != v.width || height != v.height) {
		v.pager.Render(width, height, v.p.palette) // so that it knows its size
		v.pager.Home()
	}
	v.width, v.height = width, height
	lines := v.pager.Render(width, height, v.p.palette)
	if !v.searching {
		return view{lines: lines}
	}
	for len(lines) < height {
		lines = append(lines, nil)
	}
	input := paint.Join(paint.Text(" / ", paint.Cyan), paint.Text(v.query, 0))
	return view{lines: append(lines, paint.Cut(input, width)), cursor: true, x: min(paint.Width(input), width-1), y: height}
}

func (v *viewer) key(k key) (tea.Cmd, bool) {
	if v.searching {
		return nil, v.typeQuery(k)
	}
	if k.name == "up" || k.name == "down" {
		k.name = "shift+" + k.name
	}
	if v.pager.Key(k.name) {
		v.moved = true
		return nil, true
	}
	return nil, false
}

// typeQuery takes a key while the user types what to look for.
func (v *viewer) typeQuery(k key) bool {
	switch {
	case k.text != "":
		v.query += k.text
	case k.name == "backspace":
		if r := []rune(v.query); len(r) > 0 {
			v.query = string(r[:len(r)-1])
		}
	case k.name == "enter":
		v.searching, v.moved = false, true
		if !v.pager.Find(v.query) && v.query != "" {
			v.p.fail(errors.New("this is not in the text: " + v.query))
		}
	case k.name == "esc":
		v.searching, v.query = false, ""
		v.pager.Find("")
	default:
		return false
	}
	return true
}

// paste adds pasted text to what the user looks for.
func (v *viewer) paste(text string) tea.Cmd {
	if v.searching {
		v.query += v.p.cleanLine(text)
	}
	return nil
}

func (v *viewer) actions() []action {
	if v.searching {
		return []action{
			{text: "Search", keys: []string{"enter"}, hint: "search"},
			{text: "Leave the search", keys: []string{"esc"}, hint: "leave"},
		}
	}
	all := []action{{text: "Back", keys: []string{"esc"}, hint: "back", do: v.p.pop}}
	if v.err != nil || !v.ready {
		return all
	}
	all = append(all, action{text: "Search the text", keys: []string{"/", "ctrl+f"}, hint: "search", do: func() tea.Cmd {
		v.searching, v.query = true, ""
		return nil
	}})
	if v.pager.Query() != "" {
		all = append(all,
			action{text: "Next match", keys: []string{"n"}, hint: "next", do: func() tea.Cmd { v.pager.Next(); return nil }},
			action{text: "Previous match", keys: []string{"N", "shift+n"}, do: func() tea.Cmd { v.pager.Previous(); return nil }})
	}
	if v.text != "" {
		all = append(all, action{text: "Copy " + v.what, keys: []string{"c"}, hint: "copy", do: func() tea.Cmd { return v.p.copy(v.text) }})
	}
	return append(all, action{text: "Scroll", keys: []string{"up", "down", "pgup", "pgdown", "home", "end"}})
}
