package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/tui/list"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// An experts screen lets the user choose an Expert.
type experts struct {
	p    *program
	list *list.List
}

func newExperts(p *program) screen { return &experts{p: p, list: list.New(expertSource{p: p})} }

func (s *experts) title() string { return "Experts" }

func (s *experts) opened() tea.Cmd {
	return s.p.work(func(ctx context.Context) func() tea.Cmd {
		all, err := s.p.opts.Project.Experts(ctx)
		return func() tea.Cmd {
			if err != nil {
				s.p.fail(err)
				return nil
			}
			s.list.SetSource(expertSource{s.p, all})
			return nil
		}
	})
}

func (s *experts) render(width, height int) view {
	return view{lines: s.list.Render(width, height, s.p.palette)}
}

func (s *experts) key(k key) (tea.Cmd, bool) {
	if k.text != "" {
		s.list.Type(k.text)
		return nil, true
	}
	return nil, s.list.Key(k.name)
}

func (s *experts) actions() []action {
	return []action{{text: "Talk to the selected Expert", keys: []string{"enter"}, hint: "select", do: func() tea.Cmd {
		id, ok := s.list.ID()
		if !ok {
			return nil
		}
		return s.p.openExpert(id)
	}}}
}

type expertSource struct {
	p   *program
	all []Expert
}

func (s expertSource) Len() int          { return len(s.all) }
func (s expertSource) ID(i int) string   { return s.all[i].Key }
func (s expertSource) Text(i int) string { return s.all[i].Key }
func (s expertSource) Line(i, width int) paint.Line {
	return paint.Text(s.p.cleanLine(s.all[i].Key), 0)
}
