package tui

import (
	"context"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/tui/paint"
	"github.com/perstack-go/perstack/internal/wording"
)

// A history shows the jobs of the project, the newest first.
type history struct {
	p      *program
	items  listing
	jobs   []Job
	delete *Job // which the user is asked about
}

// firstPage is how many jobs are read before the first painting: more than fit on a screen. The others
// follow, so that a long history does not delay it.
const firstPage = 100

func newHistory(p *program) screen {
	return &history{p: p, items: newListing(p, jobSource{p: p}, "No job yet.", "Press n to choose an Expert and start one.")}
}

func (s *history) title() string { return "History" + s.items.position() }

func (s *history) opened() tea.Cmd { return s.load(firstPage) }

// load reads jobs: some of them, then all.
func (s *history) load(most int) tea.Cmd {
	return s.p.work(func(ctx context.Context) func() tea.Cmd {
		jobs, err := s.p.opts.Project.Jobs(ctx, most)
		return func() tea.Cmd {
			more := most > 0 && err == nil && len(jobs) >= most
			if more && len(s.jobs) > len(jobs) { // they are known from before: nothing jumps
				return s.load(0)
			}
			s.jobs = jobs
			s.items.set(jobSource{s.p, jobs}, err)
			if more {
				return s.load(0)
			}
			return nil
		}
	})
}

func (s *history) render(width, height int) view {
	if s.delete == nil {
		return s.items.render(width, height)
	}
	ask := s.p.sentences([]string{
		fmt.Sprintf("Delete job %s of %s and its stored files? This cannot be undone.", s.p.cleanLine(prefix(*s.delete)), s.p.cleanLine(s.delete.Expert)),
		"y delete   n keep it"}, paint.Bold, width)
	return s.items.render(width, height, ask...)
}

func (s *history) key(k key) (tea.Cmd, bool) {
	if s.delete != nil {
		return s.answer(k)
	}
	return nil, s.items.key(k)
}

// answer takes the answer to the question whether a job is deleted. Keys of the program still count.
func (s *history) answer(k key) (tea.Cmd, bool) {
	switch {
	case k.name == "y" && !s.p.isAlone(k):
		return nil, true
	case k.name == "y":
		id := s.delete.ID
		s.delete = nil
		return s.remove(id), true
	case k.text != "", k.name == "esc", k.name == "enter":
		s.delete = nil
		s.p.say("nothing was deleted")
		return nil, true
	}
	return nil, false
}

// remove deletes a job.
func (s *history) remove(id string) tea.Cmd {
	return s.p.work(func(ctx context.Context) func() tea.Cmd {
		err := s.p.opts.Project.Delete(ctx, id)
		return func() tea.Cmd {
			if err != nil {
				s.p.fail(err)
				return nil
			}
			s.p.say("job %s is deleted", id)
			s.jobs = nil // those that are read again count
			return s.load(firstPage)
		}
	})
}

// paste adds pasted text to the filter.
func (s *history) paste(text string) tea.Cmd {
	if s.items.filtering {
		s.items.list.Type(s.p.cleanLine(text))
	}
	return nil
}

func (s *history) actions() (all []action) {
	if s.delete != nil {
		return []action{{text: "Delete the job", keys: []string{"y"}, hint: "delete"}, {text: "Keep the job", keys: []string{"n", "esc"}, hint: "keep"}}
	}
	if j, ok := s.selected(); ok && !s.items.filtering {
		all = append(all,
			action{text: "Open the selected job", keys: []string{"enter"}, hint: "open", do: func() tea.Cmd { return s.p.openJob(j) }},
			action{text: "Checkpoints of the selected job", keys: []string{"c"}, hint: "checkpoints", do: func() tea.Cmd { return s.p.push(newCheckpoints(s.p, j)) }},
			action{text: "Delete the selected job; asks first", keys: []string{"x"}, hint: "delete", do: func() tea.Cmd { s.delete = &j; return nil }})
	}
	if s.items.filtering {
		return append(all, action{text: "Keep the filter", keys: []string{"enter"}, hint: "done"}, action{text: "Clear the filter", keys: []string{"esc"}, hint: "clear"})
	}
	all = append(all,
		action{text: "New job: choose an Expert", keys: []string{"n"}, hint: "new", do: s.newJob},
		action{text: "Filter the jobs", keys: []string{"/", "ctrl+f"}, hint: "filter", do: func() tea.Cmd { s.items.filter(); return nil }})
	if len(s.p.stack) > 1 {
		all = append(all, action{text: "Back", keys: []string{"esc"}, hint: "back", do: s.p.pop})
	}
	return append(all, action{text: "Select another job", keys: []string{"up", "down", "pgup", "pgdown", "home", "end"}})
}

func (s *history) newJob() tea.Cmd {
	if _, below := s.p.below().(*experts); below {
		return s.p.pop()
	}
	return s.p.push(newExperts(s.p))
}

func (s *history) selected() (Job, bool) {
	i, ok := s.items.list.Selected()
	if !ok {
		return Job{}, false
	}
	return s.jobs[i], true
}

// prefix is the beginning of a job's id that people see.
func prefix(j Job) string {
	if j.Prefix != "" {
		return j.Prefix
	}
	return wording.CutRunes(j.ID, 8, "")
}

// StatusWords says the status of a job as people do, in at most 15 columns.
func StatusWords(status string) string {
	switch event.JobStatus(status) {
	case event.JobStoppedByInteractiveTool:
		return "asks a question"
	case event.JobStoppedByApproval:
		return "asks approval"
	case event.JobStoppedByMaxSteps:
		return "stopped: steps"
	case event.JobStoppedByLimit:
		return "stopped: limit"
	case event.JobStoppedByError:
		return "stopped: error"
	case event.JobStoppedByInterrupt:
		return "stopped by you"
	}
	return status
}

// jobMark shows the status of a job in one column, without the help of colours.
func (p *program) jobMark(j Job) paint.Line {
	switch status := event.JobStatus(j.Status); {
	case j.Running:
		return paint.Text(p.palette.Mark("▶", "*"), paint.Cyan)
	case status == event.JobCompleted:
		return paint.Text(p.palette.Mark("✓", "+"), paint.Green)
	case status == event.JobStoppedByInteractiveTool, status == event.JobStoppedByApproval:
		return paint.Text("?", paint.Magenta|paint.Bold)
	case status == event.JobStoppedByError:
		return paint.Text(p.palette.Mark("✗", "x"), paint.Red)
	}
	return paint.Text(p.palette.Mark("■", "#"), paint.Quiet)
}

type jobSource struct {
	p   *program
	all []Job
}

func (s jobSource) Len() int        { return len(s.all) }
func (s jobSource) ID(i int) string { return s.all[i].ID }

func (s jobSource) Text(i int) string {
	j := s.all[i]
	return strings.Join([]string{j.ID, j.Expert, StatusWords(j.Status), j.Query}, " ")
}

// Line leaves out what does not fit: a narrow terminal shows no steps and no cost.
func (s jobSource) Line(i, width int) paint.Line {
	j, p := s.all[i], s.p
	cost := ""
	if j.Cost > 0 {
		cost = wording.Cost(j.Cost)
	}
	columns := []column{{text: p.cleanLine(prefix(j)), width: 6}}
	expert, status := column{text: p.cleanLine(j.Expert), width: 12, style: paint.Bold}, column{text: p.cleanLine(StatusWords(j.Status)), width: 15}
	switch {
	case width >= 100:
		columns = append(columns, expert, status, column{text: fmt.Sprint(j.Steps), width: 4, right: true}, column{text: cost, width: 7, right: true})
	case width >= 76:
		columns = append(columns, expert, status, column{text: fmt.Sprint(j.Steps), width: 3, right: true}, column{text: cost, width: 6, right: true})
	default:
		expert.width = 8
		columns = append(columns, expert)
	}
	columns = append(columns,
		column{text: Age(p.opts.Clock().Sub(time.UnixMilli(j.At))), width: 4, right: true, style: paint.Quiet},
		column{text: p.cleanLine(wording.CutRunes(j.Query, 4*width+100, ""))}) // a query can be long
	return paint.Join(p.jobMark(j), paint.Text(" ", 0), inColumns(columns...))
}
