package tui

import (
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/tui/paint"
	"github.com/perstack-go/perstack/internal/wording"
)

// A checkpoints screen shows the states that a job can return to, the newest first.
type checkpoints struct {
	p      *program
	job    Job
	items  listing
	all    []Checkpoint
	rewind *Checkpoint // which the user is asked about
}

func newCheckpoints(p *program, j Job) screen {
	return &checkpoints{p: p, job: j, items: newListing(p, checkpointSource{p: p},
		"This job has no checkpoint yet.", "One is written after each step.")}
}

func (s *checkpoints) title() string { return "Checkpoints of " + prefix(s.job) + s.items.position() }

func (s *checkpoints) opened() tea.Cmd {
	return s.p.work(func(ctx context.Context) func() tea.Cmd {
		all, err := s.p.opts.Project.Checkpoints(ctx, s.job.ID)
		return func() tea.Cmd {
			s.all = all
			s.items.set(checkpointSource{s.p, all}, err)
			return nil
		}
	})
}

func (s *checkpoints) render(width, height int) view {
	if s.rewind == nil {
		return s.items.render(width, height)
	}
	ask := s.p.sentences([]string{
		fmt.Sprintf("Rewind to step %d? When you send the next message, the job continues there and the files of the workspace return to what they were. d shows what changes.", s.rewind.Step),
		"y rewind   n leave everything"}, paint.Bold, width)
	return s.items.render(width, height, ask...)
}

func (s *checkpoints) key(k key) (tea.Cmd, bool) {
	if s.rewind == nil {
		return nil, s.items.key(k)
	}
	at := *s.rewind
	switch {
	case k.name == "y" && !s.p.isAlone(k):
		return nil, true
	case k.name == "y":
		s.rewind = nil
		return s.p.branchJob(s.job, at, true), true
	case k.name == "d":
		return s.p.push(newDiff(s.p, s.job, at)), true
	case k.text != "", k.name == "esc", k.name == "enter":
		s.rewind = nil
		s.p.say("nothing was changed")
		return nil, true
	}
	return nil, false
}

func (s *checkpoints) actions() (all []action) {
	if s.rewind != nil {
		return []action{
			{text: "Rewind, with the files", keys: []string{"y"}, hint: "rewind"},
			{text: "Show what changes", keys: []string{"d"}, hint: "diff"},
			{text: "Leave everything as it is", keys: []string{"n", "esc"}, hint: "leave"},
		}
	}
	if i, ok := s.items.list.Selected(); ok {
		at := s.all[i]
		all = append(all,
			action{text: "Branch: the next message continues from here", keys: []string{"enter"}, hint: "branch here", do: func() tea.Cmd { return s.p.branchJob(s.job, at, false) }},
			action{text: "Rewind: branch, and return the files to this state; asks first", keys: []string{"w"}, hint: "rewind", do: func() tea.Cmd { s.rewind = &at; return nil }},
			action{text: "Diff: how the files have changed since", keys: []string{"d"}, hint: "diff", do: func() tea.Cmd { return s.p.push(newDiff(s.p, s.job, at)) }},
			action{text: "Events of the step", keys: []string{"e"}, hint: "events", do: func() tea.Cmd { return s.p.push(newEvents(s.p, s.job, at.Step)) }})
	}
	return append(all, action{text: "Back", keys: []string{"esc"}, hint: "back", do: s.p.pop},
		action{text: "Select another checkpoint", keys: []string{"up", "down", "pgup", "pgdown", "home", "end"}})
}

type checkpointSource struct {
	p   *program
	all []Checkpoint
}

func (s checkpointSource) Len() int          { return len(s.all) }
func (s checkpointSource) ID(i int) string   { return s.all[i].ID }
func (s checkpointSource) Text(i int) string { return s.all[i].Expert }

func (s checkpointSource) Line(i, width int) paint.Line {
	c := s.all[i]
	files := "files not known"
	if c.Files >= 0 {
		files = wording.Count(c.Files, "file") + " changed"
	}
	layout := time.DateTime
	if width < 60 {
		layout = time.TimeOnly
	}
	return inColumns(
		column{text: fmt.Sprintf("step %d", c.Step), width: 9, style: paint.Bold},
		column{text: s.p.time(c.At).Format(layout), style: paint.Quiet},
		column{text: files, width: 16},
		column{text: s.p.cleanLine(c.Expert), style: paint.Quiet})
}

// time is a time of the history where the user is.
func (p *program) time(ms int64) time.Time {
	return time.UnixMilli(ms).In(p.opts.Clock().Location())
}
