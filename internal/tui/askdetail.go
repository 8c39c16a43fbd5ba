package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/tui/paint"
)

// An askDetail shows all of a question on a screen of its own. It takes no answers.
type askDetail struct {
	box   *askBox
	lines []paint.Line
	width int
	top   int
	page  int
}

func newAskDetail(b *askBox) *askDetail { return &askDetail{box: b} }

func (d *askDetail) title() string { return "question" }

func (d *askDetail) render(width, height int) view {
	if d.width != width {
		d.width, d.top = width, 0
		d.lines = append([]paint.Line{paint.Cut(paint.Text(" "+d.box.title, paint.Bold), width), nil}, d.box.layout(width)...)
	}
	d.page = height
	d.scroll(0)
	end := min(d.top+height, len(d.lines))
	if end == len(d.lines) {
		d.box.seen = true
	}
	return view{lines: d.lines[d.top:end]}
}

func (d *askDetail) scroll(by int) { d.top = max(min(d.top+by, len(d.lines)-d.page), 0) }

func (d *askDetail) key(k key) (tea.Cmd, bool) {
	switch k.name {
	case "up", "shift+up":
		d.scroll(-1)
	case "down", "shift+down":
		d.scroll(1)
	case "pgup":
		d.scroll(1 - d.page)
	case "pgdown", "space":
		d.scroll(d.page - 1)
	case "home":
		d.scroll(-len(d.lines))
	case "end":
		d.scroll(len(d.lines))
	default:
		return nil, false
	}
	return nil, true
}

func (d *askDetail) actions() []action {
	return []action{
		{text: "Return to the conversation, to answer", keys: []string{"esc"}, hint: "back to answer", do: d.box.c.p.pop},
		{text: "Scroll", keys: []string{"pgdown", "pgup", "up", "down", "home", "end"}, hint: "more"},
	}
}
