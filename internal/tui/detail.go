package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/narrate"
)

// A detail shows everything about one row of a job.
type detail struct {
	p   *program
	row narrate.Row
}

func newDetail(p *program, jobID string, row narrate.Row) screen { return &detail{p, row} }

func (d *detail) title() string { return "detail" }

func (d *detail) render(width, height int) view { return view{} }

func (d *detail) key(k key) (tea.Cmd, bool) { return nil, false }

func (d *detail) actions() []action {
	return []action{{text: "Close", keys: []string{"esc"}, hint: "back", do: d.p.pop}}
}
