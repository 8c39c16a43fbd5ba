package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/tui/list"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A palette lists the actions of the screen below it, to choose one.
type palette struct {
	p    *program
	all  []action
	list *list.List
}

func newPalette(p *program) *palette {
	c := &palette{p: p}
	for _, a := range p.available() {
		if a.do != nil {
			c.all = append(c.all, a)
		}
	}
	c.list = list.New(paletteSource(c.all))
	return c
}

func (c *palette) title() string { return "actions" }

func (c *palette) render(width, height int) view {
	input := paint.Join(paint.Text(" > ", paint.Cyan), paint.Text(c.list.Filter(), 0))
	return view{
		lines:  append([]paint.Line{paint.Cut(input, width)}, c.list.Render(width, height-1, c.p.palette)...),
		cursor: true, x: min(paint.Width(input), width-1),
	}
}

func (c *palette) key(k key) (tea.Cmd, bool) {
	switch {
	case k.text != "":
		c.list.Type(k.text)
		return nil, true
	case c.list.Key(k.name):
		return nil, true
	case k.name == "esc", k.name == "ctrl+p":
		return c.p.pop(), true
	case k.name == "enter":
		i, ok := c.list.Selected()
		if !ok {
			return nil, true
		}
		closed := c.p.pop()
		return tea.Batch(closed, c.all[i].do()), true
	}
	return nil, false
}

func (c *palette) actions() []action {
	return []action{
		{text: "Do the selected action", keys: []string{"enter"}, hint: "do it"},
		{text: "Close the actions", keys: []string{"esc"}, hint: "close"},
	}
}

type paletteSource []action

func (s paletteSource) Len() int          { return len(s) }
func (s paletteSource) ID(i int) string   { return s[i].text }
func (s paletteSource) Text(i int) string { return s[i].text }

func (s paletteSource) Line(i, width int) paint.Line {
	if len(s[i].keys) == 0 {
		return paint.Cut(paint.Text(s[i].text, 0), width)
	}
	label := keyLabel(s[i].keys[0])
	return paint.Join(paint.Fit(paint.Text(s[i].text, 0), width-len(label)-1), paint.Text(" "+label, paint.Quiet))
}
