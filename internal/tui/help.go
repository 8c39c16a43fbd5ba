package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/tui/pager"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A help screen lists the keys of the screen below it.
type help struct {
	p     *program
	pager pager.Pager
}

func newHelp(p *program) *help {
	h := &help{p: p}
	for _, a := range p.available() {
		h.pager.Put(a.text, &helpRow{a})
	}
	h.pager.Home()
	return h
}

func (h *help) title() string { return "help" }

func (h *help) render(width, height int) view {
	return view{lines: h.pager.Render(width, height, h.p.palette)}
}

func (h *help) key(k key) (tea.Cmd, bool) {
	switch k.name {
	case "esc", "f1", "q":
		return h.p.pop(), true
	case "up", "down":
		k.name = "shift+" + k.name
	}
	return nil, h.pager.Key(k.name)
}

func (h *help) actions() []action {
	return []action{{text: "Close the help", keys: []string{"esc"}, hint: "close", do: h.p.pop}}
}

// helpKeys is how many columns the keys of an action get.
const helpKeys = 22

// A helpRow is one action.
type helpRow struct{ action action }

func (r *helpRow) labels() string {
	labels := make([]string, len(r.action.keys))
	for i, k := range r.action.keys {
		labels[i] = keyLabel(k)
	}
	return strings.Join(labels, ", ")
}

func (r *helpRow) Render(width int) []paint.Line {
	return []paint.Line{paint.Cut(paint.Join(paint.Fit(paint.Text(r.labels(), paint.Bold), min(helpKeys, width/2)), paint.Text(" "+r.action.text, 0)), width)}
}

func (r *helpRow) Text() string { return r.labels() + " " + r.action.text }
