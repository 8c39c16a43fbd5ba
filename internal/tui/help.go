package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/tui/pager"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A help screen lists the keys of the screen below it.
type help struct {
	p     *program
	pager pager.Pager
	drawn bool
}

func newHelp(p *program) *help {
	h := &help{p: p}
	for _, a := range p.available() {
		h.pager.Put(a.text, &helpRow{a})
	}
	return h
}

func (h *help) title() string { return "help" }

func (h *help) render(width, height int) view {
	lines := h.pager.Render(width, height, h.p.palette)
	if !h.drawn { // only now the pager knows how much fits
		h.drawn = true
		h.pager.Home()
		lines = h.pager.Render(width, height, h.p.palette)
	}
	return view{lines: lines}
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
	keys := columns.Wrap(r.labels(), min(helpKeys, width/3))
	text := columns.Wrap(r.action.text, max(width-min(helpKeys, width/3)-1, 1))
	lines := make([]paint.Line, max(len(keys), len(text)))
	for i := range lines {
		var left, right string
		if i < len(keys) {
			left = keys[i]
		}
		if i < len(text) {
			right = text[i]
		}
		lines[i] = paint.Join(paint.Fit(paint.Text(left, paint.Bold), min(helpKeys, width/3)+1), paint.Text(right, 0))
	}
	return lines
}

func (r *helpRow) Text() string { return r.labels() + " " + r.action.text }
