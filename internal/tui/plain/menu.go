package plain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/tui"
	"github.com/perstack-go/perstack/internal/wording"
)

// pageSize is how many entries of a menu are shown at once.
const pageSize = 20

// A menu is a numbered list. A number selects an entry, and so does the beginning of its name.
type menu struct {
	items  []item
	shown  int
	choose func(i int) error
	rest   func() error // adds the entries that were not read yet; nil if all were
}

// An item is an entry of a menu.
type item struct{ id, text string }

// showMenu shows a menu. If the user has named an entry already, nothing is shown.
func (s *session) showMenu(title string, m *menu, named string) error {
	if named != "" {
		i, err := m.find(named)
		if err != nil {
			return err
		}
		return m.choose(i)
	}
	s.menu = m
	s.say(title, "type a number, or /back")
	s.page()
	return nil
}

// page shows the next entries.
func (s *session) page() {
	m := s.menu
	if m.rest != nil && m.shown > 0 {
		if err := m.rest(); err != nil {
			s.fail(err)
			return
		}
		m.rest = nil
	}
	end := min(m.shown+pageSize, len(m.items))
	for i := m.shown; i < end; i++ {
		s.say(strconv.Itoa(i+1), m.items[i].text)
	}
	if m.shown = end; m.rest != nil {
		s.say("Note", "there are more; type more to see them")
	} else if end < len(m.items) {
		s.say("Note", fmt.Sprintf("%d more; type more to see them", len(m.items)-end))
	}
}

// choose takes what the user typed while a menu is open.
func (s *session) choose(text string) error {
	m := s.menu
	switch {
	case text == "":
		return nil
	case text == "more":
		s.page()
		return nil
	}
	i, err := m.find(text)
	if err != nil {
		return err
	}
	s.menu = nil
	return m.choose(i)
}

// maxMatches is how many entries an error names.
const maxMatches = 10

// find returns the entry with a number, or the only one whose name begins with a text.
func (m *menu) find(text string) (int, error) {
	if n, err := strconv.Atoi(text); err == nil {
		if n >= 1 && n <= len(m.items) {
			return n - 1, nil
		}
		if len(m.items) == 0 {
			return 0, errors.New("the list is empty")
		}
		return 0, fmt.Errorf("there is no entry %d; the list ends with %d", n, len(m.items))
	}
	found, matches := 0, []string(nil)
	for i, it := range m.items {
		if it.id == text {
			return i, nil
		}
		if strings.HasPrefix(it.id, text) {
			found, matches = i, append(matches, terminal.CleanLine(it.id))
		}
	}
	switch len(matches) {
	case 0:
		return 0, fmt.Errorf("no entry is called %s; type a number of the list, or /back and then your message", wording.Quote(text))
	case 1:
		return found, nil
	}
	return 0, fmt.Errorf("several entries begin with %s: %s", wording.Quote(text), wording.And(matches[:min(len(matches), maxMatches)]))
}

// experts shows the Experts: of perstack.toml, then recent ones.
func (s *session) experts(named string) error {
	experts, err := await(s, s.opts.Project.Experts)
	if err != nil {
		return err
	}
	if len(experts) == 0 {
		return errors.New("there is no Expert; define one in perstack.toml, as [experts.NAME]")
	}
	m := &menu{}
	for _, e := range experts {
		text := e.Key
		if e.Recent {
			text += " (recent)"
		}
		if e.Description != "" {
			text += ", " + e.Description
		}
		m.items = append(m.items, item{e.Key, wording.CutRunes(terminal.CleanLine(text), 200, "...")})
	}
	m.choose = func(i int) error {
		if e := experts[i]; e.Job != "" { // it is not in perstack.toml, and can only be continued
			return s.open(e.Job)
		}
		s.job, s.expert, s.speaker = "", experts[i].Key, experts[i].Key
		s.forget()
		s.say("Expert", experts[i].Key+". Type a message, and Enter sends it.")
		return nil
	}
	return s.showMenu("Experts", m, named)
}

// history shows the jobs of the project. Words choose those that have all of them. Without words, the
// first ones are shown before the others are read: a history can be long.
func (s *session) history(filter string) error {
	most := pageSize + 1
	if filter != "" {
		most = 0
	}
	jobs, err := s.readJobs(most)
	if err != nil {
		return err
	}
	if len(jobs) == 0 {
		return errors.New("there is no job yet; /new starts one")
	}
	m := &menu{}
	m.choose = func(i int) error { return s.open(m.items[i].id) }
	if len(jobs) == most {
		jobs = jobs[:pageSize]
		m.rest = func() error {
			all, err := s.readJobs(0)
			if err == nil {
				m.items = s.jobItems(all, "")
			}
			return err
		}
	}
	if m.items = s.jobItems(jobs, filter); len(m.items) == 0 {
		return fmt.Errorf("no job has %s; /history without words shows all", wording.Quote(filter))
	}
	return s.showMenu("History", m, "")
}

// readJobs reads the newest jobs; all of them for 0.
func (s *session) readJobs(most int) ([]tui.Job, error) {
	return await(s, func(ctx context.Context) ([]tui.Job, error) { return s.opts.Project.Jobs(ctx, most) })
}

func (s *session) jobItems(jobs []tui.Job, filter string) (items []item) {
	for _, j := range jobs {
		text := strings.Join([]string{cmp.Or(j.Prefix, short(j.ID)), j.Expert, s.jobFacts(j), wording.CutRunes(terminal.CleanLine(j.Query), 60, "...")}, ", ")
		if has(text+" "+j.ID, filter) {
			items = append(items, item{j.ID, text})
		}
	}
	return items
}

// jobFacts says how a job is.
func (s *session) jobFacts(j tui.Job) string {
	facts := []string{tui.StatusWords(j.Status), wording.Count(j.Steps, "step")}
	if j.Cost > 0 {
		facts = append(facts, wording.Cost(j.Cost))
	}
	return strings.Join(append(facts, tui.Age(s.opts.Clock().Sub(time.UnixMilli(j.At)))+" ago"), ", ")
}

// has reports whether a text has all words of a filter.
func has(text, filter string) bool {
	text = strings.ToLower(text)
	for _, word := range strings.Fields(strings.ToLower(filter)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// checkpoints shows those of the open job.
func (s *session) checkpoints(named string, choose func(tui.Checkpoint) error) error {
	if s.job == "" {
		return errors.New("no job is open; /history shows those of the project")
	}
	points, err := await(s, func(ctx context.Context) ([]tui.Checkpoint, error) { return s.opts.Project.Checkpoints(ctx, s.job) })
	if err != nil {
		return err
	}
	if len(points) == 0 {
		return errors.New("the job has no checkpoint yet")
	}
	m := &menu{choose: func(i int) error { return choose(points[i]) }}
	for _, p := range points {
		text := fmt.Sprintf("step %d, %s, %s", p.Step, s.time(p.At).Format(time.DateTime), p.Expert)
		if p.Files >= 0 {
			text += ", " + wording.Count(p.Files, "file") + " changed"
		}
		m.items = append(m.items, item{p.ID, text})
	}
	return s.showMenu("Checkpoints", m, named)
}

// branch makes the next message start from a checkpoint.
func (s *session) branch(p tui.Checkpoint) error {
	s.from = &point{Checkpoint: p}
	s.say("Branch", fmt.Sprintf("the next message continues from step %d; the files stay as they are, and /back undoes this", p.Step))
	return nil
}

// rewind does so, and the files return to the checkpoint, too.
func (s *session) rewind(p tui.Checkpoint) error {
	if !s.opts.Terminal {
		return errors.New("files are not changed back without a terminal")
	}
	s.say("Approval", fmt.Sprintf("the next message continues from step %d, and the files of the workspace return to what they were then. /diff shows what changes.", p.Step))
	s.confirm = &confirm{word: "rewind", do: func() error {
		s.from = &point{p, true}
		s.say("Branch", fmt.Sprintf("the next message continues from step %d, with its files; /back undoes this", p.Step))
		return nil
	}}
	return nil
}

func (s *session) diff(p tui.Checkpoint) error {
	text, err := await(s, func(ctx context.Context) (string, error) { return s.opts.Project.Diff(ctx, s.job, p.ID) })
	if err != nil {
		return err
	}
	if strings.TrimSpace(text) == "" {
		s.say("Diff", fmt.Sprintf("the files are as they were at step %d", p.Step))
		return nil
	}
	s.say("Diff", fmt.Sprintf("from step %d to now\n%s", p.Step, text))
	return nil
}

// events shows what is recorded of the open job, and the record of the one that is chosen.
func (s *session) events(filter string) error {
	if s.job == "" {
		return errors.New("no job is open; /history shows those of the project")
	}
	all, err := await(s, func(ctx context.Context) (all []event.Event, err error) {
		for e, err := range s.opts.Project.Events(ctx, s.job, false) {
			if err != nil {
				return all, err
			}
			all = append(all, e)
		}
		return all, nil
	})
	if err != nil {
		return err
	}
	m := &menu{}
	var chosen []event.Event
	for _, e := range all {
		text := fmt.Sprintf("%s, step %d, %s, %s", e.Type(), e.StepNumber, e.ExpertKey, s.time(e.Timestamp).Format(time.TimeOnly))
		if has(text, filter) {
			chosen, m.items = append(chosen, e), append(m.items, item{e.ID, text})
		}
	}
	if len(chosen) == 0 {
		return errors.New("no event matches; /events without words shows all")
	}
	m.choose = func(i int) error { return s.record(chosen[i].ID) }
	return s.showMenu("Events", m, "")
}

// record shows a record of the journal.
func (s *session) record(eventID string) error {
	number, text, err := s.readRecord(eventID)
	if err != nil {
		return err
	}
	s.say(fmt.Sprintf("Record %d", number), string(text))
	return nil
}

func (s *session) readRecord(eventID string) (number int64, text []byte, err error) {
	type found struct {
		number int64
		text   []byte
	}
	r, err := await(s, func(ctx context.Context) (found, error) {
		n, text, err := s.opts.Project.Record(ctx, s.job, eventID)
		return found{n, text}, err
	})
	return r.number, r.text, err
}
