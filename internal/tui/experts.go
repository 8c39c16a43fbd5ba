package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/tui/paint"
)

// An experts screen lets the user choose an Expert: of perstack.toml, then recent ones.
type experts struct {
	p     *program
	items listing
	all   []Expert
}

func newExperts(p *program) screen {
	s := &experts{p: p, items: newListing(p, expertSource{p: p},
		"There is no Expert yet.",
		"Define one in perstack.toml, as [experts.NAME] with an instruction, and open this screen again.")}
	s.items.filters = true
	return s
}

func (s *experts) title() string { return "Experts" + s.items.position() }

func (s *experts) opened() tea.Cmd {
	return s.p.work(func(ctx context.Context) func() tea.Cmd {
		all, err := s.p.opts.Project.Experts(ctx)
		return func() tea.Cmd {
			s.all = all
			s.items.set(expertSource{s.p, all}, err)
			return nil
		}
	})
}

func (s *experts) render(width, height int) view { return s.items.render(width, height) }

func (s *experts) key(k key) (tea.Cmd, bool) { return nil, s.items.key(k) }

func (s *experts) paste(text string) tea.Cmd {
	s.items.list.Type(s.p.cleanLine(text))
	return nil
}

func (s *experts) actions() (all []action) {
	if _, ok := s.items.list.Selected(); ok {
		all = append(all, action{text: "Talk to the selected Expert", keys: []string{"enter"}, hint: "select", do: s.choose})
	}
	if _, below := s.p.below().(*history); !below {
		all = append(all, action{text: "History: the jobs of the project", keys: []string{"ctrl+o"}, hint: "history", do: func() tea.Cmd { return s.p.push(newHistory(s.p)) }})
	} else {
		all = append(all, action{text: "History: the jobs of the project", keys: []string{"ctrl+o"}, hint: "history", do: s.p.pop})
	}
	if len(s.p.stack) > 1 {
		all = append(all, action{text: "Back", keys: []string{"esc"}, hint: "back", do: s.p.pop})
	}
	return append(all, action{text: "Select another Expert", keys: []string{"up", "down", "pgup", "pgdown", "home", "end"}},
		action{text: "Filter the Experts; Esc clears the filter"})
}

// choose opens a conversation. One with an Expert that is not in perstack.toml any more can only be
// continued.
func (s *experts) choose() tea.Cmd {
	i, ok := s.items.list.Selected()
	if !ok {
		return nil
	}
	if e := s.all[i]; e.Job != "" {
		return s.p.openJob(Job{ID: e.Job, Expert: e.Key})
	}
	return s.p.openExpert(s.all[i].Key)
}

// below returns the screen under the topmost one; nil if there is none.
func (p *program) below() screen {
	if len(p.stack) < 2 {
		return nil
	}
	return p.stack[len(p.stack)-2]
}

type expertSource struct {
	p   *program
	all []Expert
}

func (s expertSource) Len() int          { return len(s.all) }
func (s expertSource) ID(i int) string   { return s.all[i].Key }
func (s expertSource) Text(i int) string { return s.all[i].Key + " " + s.all[i].Description }

func (s expertSource) Line(i, width int) paint.Line {
	e := s.all[i]
	recent := ""
	if e.Recent {
		recent = "recent"
	}
	return inColumns(
		column{text: s.p.cleanLine(e.Key), width: min(24, width/2), style: paint.Bold},
		column{text: recent, style: paint.Quiet},
		column{text: s.p.cleanLine(e.Description), style: paint.Quiet})
}
