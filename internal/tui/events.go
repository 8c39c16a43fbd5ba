package tui

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// An events screen shows what is recorded of a step.
type events struct {
	p     *program
	job   Job
	step  int
	items listing
	all   []event.Event
}

func newEvents(p *program, j Job, step int) screen {
	return &events{p: p, job: j, step: step, items: newListing(p, eventSource{p: p}, "No event of this step is recorded.")}
}

func (s *events) title() string {
	return fmt.Sprintf("Events of step %d%s", s.step, s.items.position())
}

func (s *events) opened() tea.Cmd {
	if s.items.ready {
		return nil // a record was above it
	}
	return s.p.work(func(ctx context.Context) func() tea.Cmd {
		var all []event.Event
		var failed error
		for e, err := range s.p.opts.Project.Events(ctx, s.job.ID, false) {
			if err != nil {
				failed = err
				break
			}
			if e.StepNumber == s.step && !e.IsRuntime() {
				all = append(all, e)
			}
		}
		return func() tea.Cmd {
			s.all = all
			s.items.set(eventSource{s.p, all}, failed)
			return nil
		}
	})
}

func (s *events) render(width, height int) view { return s.items.render(width, height) }

func (s *events) key(k key) (tea.Cmd, bool) { return nil, s.items.key(k) }

func (s *events) actions() (all []action) {
	if i, ok := s.items.list.Selected(); ok && !s.items.filtering {
		all = append(all, action{text: "Record of the selected event", keys: []string{"enter"}, hint: "record", do: func() tea.Cmd {
			return s.p.push(newRecord(s.p, s.job.ID, s.all[i]))
		}})
	}
	return append(all,
		action{text: "Filter the events", keys: []string{"/", "ctrl+f"}, hint: "filter", do: func() tea.Cmd { s.items.filter(); return nil }},
		action{text: "Back", keys: []string{"esc"}, hint: "back", do: s.p.pop},
		action{text: "Select another event", keys: []string{"up", "down", "pgup", "pgdown", "home", "end"}})
}

type eventSource struct {
	p   *program
	all []event.Event
}

func (s eventSource) Len() int        { return len(s.all) }
func (s eventSource) ID(i int) string { return s.all[i].ID }

func (s eventSource) Text(i int) string { return string(s.all[i].Type()) + " " + s.all[i].ExpertKey }

func (s eventSource) Line(i, width int) paint.Line {
	e := s.all[i]
	return inColumns(
		column{text: s.p.time(e.Timestamp).Format(time.TimeOnly), style: paint.Quiet},
		column{text: s.p.cleanLine(string(e.Type())), width: min(26, width/2), style: paint.Bold},
		column{text: s.p.cleanLine(e.ExpertKey), style: paint.Quiet})
}

// A record shows the record of an event in the journal.
type record struct {
	viewer *viewer
	jobID  string
	event  event.Event
}

func newRecord(p *program, jobID string, e event.Event) screen {
	return &record{viewer: &viewer{p: p, name: "Record of " + string(e.Type()), what: "the record"}, jobID: jobID, event: e}
}

func (r *record) title() string                 { return r.viewer.title() }
func (r *record) render(width, height int) view { return r.viewer.render(width, height) }
func (r *record) key(k key) (tea.Cmd, bool)     { return r.viewer.key(k) }
func (r *record) paste(text string) tea.Cmd     { return r.viewer.paste(text) }
func (r *record) actions() []action             { return r.viewer.actions() }

func (r *record) opened() tea.Cmd {
	v := r.viewer
	if v.ready {
		return nil // the help was above it
	}
	return v.p.work(func(ctx context.Context) func() tea.Cmd {
		number, line, err := v.p.opts.Project.Record(ctx, r.jobID, r.event.ID)
		return func() tea.Cmd {
			if v.err, v.ready = err, true; err != nil {
				return nil
			}
			v.text = string(line)
			v.addLine(fmt.Sprintf("Record %d", number), paint.Bold)
			v.add(indented(line), 0)
			return nil
		}
	})
}
