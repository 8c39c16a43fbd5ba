package plain

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/lines"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/tui"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// A Command is something that the user can type.
type Command struct {
	Name string
	Args string // what can follow
	Help string
	do   func(s *session, arg string) error
}

// Commands returns what the user can type, in the order of the help.
func Commands() []Command {
	return []Command{
		{"help", "", "list the commands", func(s *session, _ string) error { return s.help() }},
		{"new", "[EXPERT]", "start a new job; without a name, choose the Expert", (*session).newJob},
		{"history", "[WORDS]", "list the jobs of the project, and open one", func(s *session, arg string) error { return s.idle(func() error { return s.history(arg) }) }},
		{"open", "JOB", "open a job by the beginning of its id", func(s *session, arg string) error { return s.idle(func() error { return s.openNamed(arg) }) }},
		{"delete", "JOB", "delete a job; asks first", (*session).remove},
		{"resume", "", "continue the open job without a message", func(s *session, _ string) error { return s.resume() }},
		{"answer", "TEXT", "answer the question that the job waits for", (*session).answer},
		{"checkpoints", "[NUMBER]", "list the checkpoints of the job, and branch from one", func(s *session, arg string) error {
			return s.idle(func() error { return s.checkpoints(arg, s.branch) })
		}},
		{"branch", "[NUMBER]", "the same", func(s *session, arg string) error {
			return s.idle(func() error { return s.checkpoints(arg, s.branch) })
		}},
		{"rewind", "[NUMBER]", "branch, and return the files to the checkpoint; asks first", func(s *session, arg string) error {
			return s.idle(func() error { return s.checkpoints(arg, s.rewind) })
		}},
		{"diff", "[NUMBER]", "show how the files differ from those at a checkpoint", func(s *session, arg string) error { return s.checkpoints(arg, s.diff) }},
		{"events", "[WORDS]", "list the events of the job, and show the record of one", (*session).events},
		{"tools", "[NUMBER]", "list the tool calls of the job, and show one in full", (*session).tools},
		{"search", "TEXT", "show the rows of the job that have a text", (*session).search},
		{"transcript", "", "show the job from its beginning", func(s *session, _ string) error { return s.transcript(0) }},
		{"runs", "", "show what each Expert of the job does", func(s *session, _ string) error { return s.showRuns() }},
		{"status", "", "show what the job took", func(s *session, _ string) error { return s.status() }},
		{"attach", "FILE", "send a file with the next message", (*session).attach},
		{"detach", "", "send no file with it", func(s *session, _ string) error { return s.detach() }},
		{"unqueue", "", "take back the last message that waits", func(s *session, _ string) error { return s.unqueue() }},
		{"stop", "", "stop the job, with a checkpoint", func(s *session, _ string) error { return s.stopWork() }},
		{"back", "", "leave a list, or undo /branch and /rewind", func(s *session, _ string) error { return s.back() }},
		{"quit", "", "stop the job and quit", func(s *session, _ string) error { return s.leave() }},
	}
}

// command reads a line as a command. A command begins with a slash; help and quit also do alone.
func (s *session) command(text string) (name, arg string, ok bool) {
	text = strings.TrimSpace(text)
	if text == "help" || text == "quit" {
		return text, "", true
	}
	rest, ok := strings.CutPrefix(text, "/")
	if !ok || strings.HasPrefix(rest, "/") {
		return "", "", false
	}
	name, arg, _ = strings.Cut(rest, " ")
	return name, strings.TrimSpace(arg), true
}

// do does a command.
func (s *session) do(name, arg string) error {
	var known []string
	for _, c := range Commands() {
		if c.Name != name {
			known = append(known, "/"+c.Name)
			continue
		}
		if arg != "" && c.Args == "" {
			return fmt.Errorf("/%s takes nothing behind it; a message that begins with a slash begins with two", name)
		}
		if arg == "" && c.Args != "" && !strings.HasPrefix(c.Args, "[") {
			return fmt.Errorf("/%s needs more: /%s %s", name, name, c.Args)
		}
		if name != "help" && name != "status" && name != "runs" {
			s.menu = nil
		}
		return c.do(s, arg)
	}
	hint := wording.Nearest("/"+name, known)
	if hint == "" {
		hint = "/help lists them"
	} else {
		hint = "did you mean " + hint + "?"
	}
	return fmt.Errorf("there is no command %s; %s", wording.Quote("/"+name), hint)
}

func (s *session) help() error {
	var text []string
	for _, c := range Commands() {
		text = append(text, strings.TrimSpace("/"+c.Name+" "+c.Args)+": "+c.Help)
	}
	text = append(text,
		"Anything else is a message to the Expert. A line that ends with \\ is continued on the next one.",
		"While a job works, a message waits until it has stopped. Ctrl-C stops the job, and quits if it is pressed again.")
	s.say("Commands", "a line that begins with a slash\n"+strings.Join(text, "\n"))
	return nil
}

// idle does something that must not happen while a job works here.
func (s *session) idle(do func() error) error {
	if s.work != nil && s.follows { // it works elsewhere, and nothing is lost
		s.work.stopped = true
		s.work.cancel()
		for t := range s.work.events {
			if t.over {
				break
			}
		}
		s.work, s.follows = nil, false
		s.asker.end()
	}
	if s.work != nil {
		return errors.New("a job is working; /stop stops it")
	}
	return do()
}

func (s *session) newJob(arg string) error {
	return s.idle(func() error { return s.experts(arg) })
}

// openNamed opens a job by the beginning of its id.
func (s *session) openNamed(arg string) error {
	j, err := s.findJob(arg)
	if err != nil {
		return err
	}
	return s.open(j.ID)
}

// minPrefix is how much of an id names a job.
const minPrefix = 4

func (s *session) findJob(named string) (tui.Job, error) {
	jobs, err := s.readJobs(0)
	if err != nil {
		return tui.Job{}, err
	}
	if len(named) < minPrefix {
		return tui.Job{}, fmt.Errorf("%s is too short; give at least %d characters of the id, or choose from /history", wording.Quote(named), minPrefix)
	}
	var found []tui.Job
	var ids []string
	for _, j := range jobs {
		if strings.HasPrefix(j.ID, named) {
			found, ids = append(found, j), append(ids, j.ID)
		}
	}
	switch len(found) {
	case 0:
		return tui.Job{}, fmt.Errorf("no job begins with %s; /history lists them", wording.Quote(named))
	case 1:
		return found[0], nil
	}
	return tui.Job{}, fmt.Errorf("several jobs begin with %s: %s", wording.Quote(named), wording.And(ids[:min(len(ids), maxMatches)]))
}

// shownRows is how many rows of a job are shown when it is opened.
const shownRows = 30

// open opens a job: it shows the end of it, and follows it if another process works on it.
func (s *session) open(id string) error {
	jobs, err := s.readJobs(0)
	if err != nil {
		return err
	}
	var job tui.Job
	for _, j := range jobs {
		if j.ID == id {
			job = j
		}
	}
	if job.ID == "" {
		return fmt.Errorf("there is no job %s; /history lists them", wording.Quote(id))
	}
	s.forget()
	s.job, s.expert, s.speaker = job.ID, job.Expert, job.Expert
	s.say("Job", fmt.Sprintf("%s, %s, %s", short(job.ID), job.Expert, s.jobFacts(job)))
	doubt, err := await(s, func(ctx context.Context) (string, error) { return s.opts.Project.Doubt(ctx, id), nil })
	if err != nil {
		return err
	}
	if doubt != "" {
		s.say("Note", "what follows may not be true: "+doubt)
	}
	if job.Running {
		s.follows = true
		s.say("Note", "another perstack works on it; it is followed here, and /branch starts a branch of it")
		s.follow(func(ctx context.Context) iter.Seq2[event.Event, error] { return s.opts.Project.Events(ctx, id, true) })
		return nil
	}
	if err := s.load(); err != nil {
		return err
	}
	s.last = s.job
	if err := s.transcript(shownRows); err != nil {
		return err
	}
	switch {
	case s.waitsForAnswer():
		s.say("Note", "the job waits for your answer; type it")
	case len(s.pending) > 0:
		s.say("Note", "the job waits for your approval; /resume shows it again")
	}
	return nil
}

// load reads the open job.
func (s *session) load() error {
	events, err := await(s, func(ctx context.Context) (all []event.Event, err error) {
		for e, err := range s.opts.Project.Events(ctx, s.job, false) {
			if err != nil {
				return all, err
			}
			all = append(all, e)
		}
		return all, nil
	})
	for _, e := range events {
		s.fold(e)
	}
	return err
}

// transcript shows the last rows of the job; all of them for 0.
func (s *session) transcript(most int) error {
	var rows []narrate.Row
	p := s.newPrinter()
	for _, r := range s.rows {
		if p.Shows(r) {
			rows = append(rows, r)
		}
	}
	if most > 0 && len(rows) > most {
		s.say("Note", fmt.Sprintf("%d earlier rows are not shown; /transcript shows all", len(rows)-most))
		rows = rows[len(rows)-most:]
	}
	return p.Print(rows)
}

func (s *session) resume() error {
	return s.idle(func() error {
		if s.job == "" {
			return errors.New("no job is open; /history shows those of the project")
		}
		s.start(tui.Task{Expert: s.expert, Job: s.job})
		return nil
	})
}

func (s *session) answer(text string) error {
	if !s.waitsForAnswer() {
		return errors.New("the open job has asked no question; type a message to continue it")
	}
	return s.message(text)
}

// remove deletes a job, if the user says so.
func (s *session) remove(named string) error {
	if !s.opts.Terminal {
		return errors.New("no job is deleted without a terminal")
	}
	return s.idle(func() error {
		j, err := s.findJob(named)
		if err != nil {
			return err
		}
		s.say("Approval", fmt.Sprintf("delete job %s (%s, %s) and its stored files? This cannot be undone.", short(j.ID), j.Expert, s.jobFacts(j)))
		s.confirm = &confirm{word: "delete", do: func() error {
			if _, err := await(s, func(ctx context.Context) (struct{}, error) { return struct{}{}, s.opts.Project.Delete(ctx, j.ID) }); err != nil {
				return err
			}
			if s.job == j.ID {
				s.job = ""
				s.forget()
			}
			if s.last == j.ID {
				s.last = ""
			}
			s.say("Note", "job "+short(j.ID)+" is deleted")
			return nil
		}}
		return nil
	})
}

// tools shows the calls of the job, and one of them in full.
func (s *session) tools(named string) error {
	m := &menu{}
	var calls []narrate.Row
	for _, r := range s.rows {
		if r.Kind == narrate.Tool || r.Kind == narrate.Provider {
			calls, m.items = append(calls, r), append(m.items, item{r.ID, lines.Headline(r)})
		}
	}
	if len(calls) == 0 {
		return errors.New("the job has called no tool yet")
	}
	m.choose = func(i int) error { return s.detail(calls[i]) }
	return s.showMenu("Tools", m, named)
}

// detail shows everything about a call.
func (s *session) detail(r narrate.Row) error {
	text := []string{lines.Headline(r)}
	if r.SkillName != "" {
		text = append(text, "Skill: "+r.SkillName)
	}
	if r.Began > 0 {
		text = append(text, "Started: "+s.time(r.Began).Format(time.DateTime))
	}
	if took := lines.Took(r); took != "" {
		text = append(text, "Took: "+took)
	}
	if len(r.Args) > 0 {
		text = append(text, "Arguments:", string(r.Args))
	}
	number, _, err := s.readRecord(r.Event)
	if err != nil {
		return err
	}
	text = append(text, fmt.Sprintf("Record: %d", number), "Result:", r.Output)
	s.say("Tool", strings.Join(text, "\n"))
	return nil
}

func (s *session) search(text string) error {
	var rows []narrate.Row
	p := s.newPrinter()
	for _, r := range s.rows {
		all := []string{r.Label, r.Summary, strings.Join(r.Argv, " "), r.Output}
		for _, t := range r.Body {
			all = append(all, t.Text)
		}
		if p.Shows(r) && strings.Contains(strings.ToLower(strings.Join(all, "\n")), strings.ToLower(text)) {
			rows = append(rows, r)
		}
	}
	s.say("Search", wording.Count(len(rows), "row")+" found")
	return p.Print(rows)
}

func (s *session) showRuns() error {
	if len(s.runs) == 0 {
		return errors.New("nothing has run yet")
	}
	for _, r := range s.runs {
		text := fmt.Sprintf("%s, step %d", strings.TrimSpace(string(r.Phase)+" "+r.What), r.Step)
		if r.Tokens.Input+r.Tokens.Output > 0 {
			text += fmt.Sprintf(", %d tokens", r.Tokens.Input+r.Tokens.Output)
		}
		if r.Cost > 0 {
			text += ", " + wording.Cost(r.Cost)
		}
		s.say(r.Expert, text)
	}
	return nil
}

func (s *session) status() error {
	if s.job == "" {
		return errors.New("no job is open; /history shows those of the project")
	}
	took := time.Duration(0)
	if s.work != nil {
		took = s.opts.Clock().Sub(s.work.began)
	}
	s.say("Status", strings.Join(s.usage(took), ", "))
	return nil
}

func (s *session) attach(path string) error {
	if len(s.files) == job.MaxAttachments {
		return fmt.Errorf("a message has at most %d files", job.MaxAttachments)
	}
	a, err := await(s, func(ctx context.Context) (tui.Attachment, error) { return s.opts.Project.Attach(ctx, path) })
	if err != nil {
		return err
	}
	s.files = append(s.files, a)
	text := fmt.Sprintf("%s %s, %s", a.Kind, a.Name, wording.Bytes(a.Size))
	if a.Outside {
		text += ", outside of the workspace"
	}
	s.say("Attached", text+"; it goes along with the next message, and /detach takes it back")
	return nil
}

func (s *session) detach() error {
	s.files = nil
	s.say("Note", "the next message has no file")
	return nil
}

func (s *session) unqueue() error {
	if len(s.queue) == 0 {
		return errors.New("no message waits")
	}
	text := s.queue[len(s.queue)-1]
	s.queue = s.queue[:len(s.queue)-1]
	s.say("Taken back", text)
	return nil
}

func (s *session) back() error {
	if s.from != nil {
		s.from = nil
		s.say("Note", "the next message continues the job from its end")
	}
	s.menu = nil
	if s.expert == "" {
		return errors.New("there is no Expert yet; choose one with /new")
	}
	return nil
}
