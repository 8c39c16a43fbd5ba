package plain

import (
	"cmp"
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
)

// quietFor is after how long without a line the user is told that the job still works.
const quietFor = 30 * time.Second

// A work is a job that works, or one that is followed.
type work struct {
	cancel  context.CancelFunc
	events  chan told
	began   time.Time
	stopped bool         // the user stopped it
	status  event.Status // how the coordinator ended
}

// A told is what a job says: an event, or its end.
type told struct {
	event event.Event
	err   error
	over  bool
}

// send gives a message to the Expert: it starts a job, continues the open one or answers it.
func (s *session) send(text string) error {
	if s.expert == "" {
		return errors.New("there is no Expert to send this to; choose one with /new")
	}
	if err := s.opts.Project.Remember(s.ctx, text); err != nil {
		s.say("Note", "the input could not be kept for later: "+err.Error())
	}
	task := tui.Task{Expert: s.expert, Query: text, Job: s.job, Answer: s.waitsForAnswer() && s.from == nil}
	for _, a := range s.files {
		task.Attachments = append(task.Attachments, a.Path)
	}
	s.files = nil
	s.start(task)
	return nil
}

// waitsForAnswer reports whether the open job has asked a question.
func (s *session) waitsForAnswer() bool {
	return len(s.pending) > 0 && s.pending[0].Label == "Question"
}

// start runs a task.
func (s *session) start(task tui.Task) {
	if p := s.from; p != nil {
		task.Checkpoint, task.RestoreFiles, task.Answer = p.ID, p.files, false
		s.from = nil
	}
	if task.Job == "" {
		s.forget()
	}
	s.follow(func(ctx context.Context) iter.Seq2[event.Event, error] {
		return s.opts.Project.Run(ctx, task, s.asker)
	})
	if s.opts.Terminal { // the first row can take its time
		s.say("Working", "Ctrl-C stops it")
	}
}

// follow shows events as they come.
func (s *session) follow(events func(context.Context) iter.Seq2[event.Event, error]) {
	s.menu, s.confirm = nil, nil
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(s.ctx)) // leave ends it, and waits
	w := &work{cancel: func() { cancel(tui.ErrStopped) }, events: make(chan told, 64), began: s.opts.Clock()}
	s.work, s.out.wrote = w, s.opts.Clock()
	s.asker.begin()
	tell := func(t told) {
		select {
		case w.events <- t:
		case <-s.stop: // the user has quit
		}
	}
	go func() {
		for e, err := range events(ctx) {
			if err != nil {
				tell(told{err: err, over: true})
				return
			}
			tell(told{event: e})
		}
		tell(told{over: true})
	}()
}

// drain takes what the job has told up to now, so that a question comes after it.
func (s *session) drain() {
	for s.work != nil {
		select {
		case t := <-s.work.events:
			s.take(t)
		default:
			return
		}
	}
}

// take shows what a job tells.
func (s *session) take(t told) {
	if t.over {
		s.over(t.err)
		return
	}
	e := t.event
	if e.JobID != "" && e.JobID != s.job {
		s.job = e.JobID
	}
	if !s.follows {
		s.last = s.job
	}
	changes := s.fold(e)
	if status, ok := e.EndStatus(); ok && s.depthOf(e.RunID) == 0 && status != event.StatusStoppedByDelegate {
		s.work.status = status
	}
	var rows []narrate.Row
	for _, r := range narrate.Rows(changes) {
		switch {
		case r.Kind == narrate.Query && r.Depth == 0 && s.echoed:
			s.echoed = false // it is what the user has just typed
		case r.Kind == narrate.Question && r.State == narrate.Waiting && !s.follows:
			// It is shown when it is asked.
		case r.Kind == narrate.Answer && !s.follows && s.opts.Terminal && r.Label == "Answer":
			// So is this.
		default:
			rows = append(rows, r)
		}
	}
	_ = s.printer.Print(rows) // the error is kept by the output
}

// fold takes an event into what is known of the open job.
func (s *session) fold(e event.Event) []narrate.Change {
	if b, ok := e.Body.(event.StartRun); ok && b.DelegatedBy == nil {
		s.expert, s.speaker = e.ExpertKey, e.ExpertKey
		s.pending = nil
	}
	changes := s.story.Apply(e)
	for _, c := range changes {
		switch c := c.(type) {
		case narrate.Row:
			s.put(c)
		case narrate.Run:
			s.putRun(c)
		case narrate.Totals:
			s.totals = c
		case narrate.Ask:
			if !c.Settled {
				s.pending = append(s.pending, c.Row)
			} else if len(s.pending) > 0 {
				s.pending = s.pending[1:]
			}
		}
	}
	if _, done := e.Body.(event.CompleteRun); done && s.depthOf(e.RunID) == 0 {
		s.pending = nil
	}
	return changes
}

func (s *session) put(r narrate.Row) {
	if i, ok := s.index[r.ID]; ok {
		s.rows[i] = r
		return
	}
	s.index[r.ID] = len(s.rows)
	s.rows = append(s.rows, r)
}

func (s *session) putRun(r narrate.Run) {
	for i := range s.runs {
		if s.runs[i].ID == r.ID {
			s.runs[i] = r
			return
		}
	}
	s.runs = append(s.runs, r)
}

func (s *session) depthOf(run string) int {
	for i := range s.runs {
		if s.runs[i].ID == run {
			return s.runs[i].Depth
		}
	}
	return 0
}

// over says how the job has ended.
func (s *session) over(err error) {
	w := s.work
	s.work, s.asks = nil, nil
	w.cancel()
	s.asker.end()
	if s.follows {
		s.follows = false
		s.reportEnd(err, w)
		return
	}
	s.last = s.job
	s.reportEnd(err, w)
	if err != nil || w.stopped || s.waitsForAnswer() {
		for _, text := range s.queue { // they were written for another state of the job
			s.say("Taken back", text)
		}
		s.queue = nil
	}
}

func (s *session) reportEnd(err error, w *work) {
	if err != nil && !(w.stopped && (errors.Is(err, context.Canceled) || errors.Is(err, tui.ErrStopped))) {
		s.fail(err)
	}
	if s.job == "" {
		return
	}
	s.say("Done", strings.Join(append([]string{ending(w.status)}, s.usage(s.opts.Clock().Sub(w.began))...), ", "))
	switch {
	case s.waitsForAnswer():
		s.say("Note", "the job waits for your answer; type it")
	case len(s.pending) > 0:
		s.say("Note", "the job waits for your approval; /resume shows it again")
	}
}

// ending says how a coordinator ended.
func ending(status event.Status) string {
	switch status {
	case event.StatusCompleted:
		return "completed"
	case event.StatusStoppedByInteractiveTool, event.StatusStoppedByApproval:
		return "waiting for you"
	case event.StatusStoppedByLimit, event.StatusStoppedByExceededMaxSteps:
		return "stopped by a limit"
	case event.StatusStoppedByInterrupt:
		return "stopped, everything is saved"
	case event.StatusStoppedByError:
		return "stopped by an error"
	}
	return "stopped"
}

// usage says what the job took.
func (s *session) usage(took time.Duration) (parts []string) {
	if took > 0 {
		parts = append(parts, lines.Duration(took))
	}
	t := s.totals
	if t.Steps > 0 {
		parts = append(parts, wording.Count(t.Steps, "step"))
	}
	if t.Tokens.Input+t.Tokens.Output > 0 {
		parts = append(parts, fmt.Sprintf("%d tokens in, %d out", t.Tokens.Input, t.Tokens.Output))
	}
	if t.Cost > 0 {
		parts = append(parts, wording.Cost(t.Cost))
	}
	return append(parts, "job "+short(s.job))
}

// untilQuiet is how long the job can be silent until the user is told that it works.
func (s *session) untilQuiet() time.Duration {
	return max(quietFor-s.opts.Clock().Sub(s.out.wrote), time.Millisecond)
}

// stillWorking says that the job works, unless it waits for the user.
func (s *session) stillWorking() {
	if s.opts.Clock().Sub(s.out.wrote) < quietFor {
		return
	}
	if len(s.asks) > 0 || s.out.open { // the user was asked, and the prompt is shown
		s.out.wrote = s.opts.Clock()
		return
	}
	what := ""
	for _, r := range s.runs {
		if !r.Phase.IsOver() && r.Phase != narrate.Delegating {
			what = ", " + strings.TrimSpace(string(r.Phase)+" "+r.What)
		}
	}
	took := s.opts.Clock().Sub(s.work.began).Round(time.Second)
	s.say("Note", "still working, "+cmp.Or(took.String(), "0s")+what)
}

// stopWork asks the job to stop, or stops following it.
func (s *session) stopWork() error {
	w := s.work
	if w == nil {
		return errors.New("no job is working")
	}
	w.stopped = true
	w.cancel()
	if s.follows {
		s.say("Note", "the job is not followed any more")
	} else {
		s.say("Note", "stopping, with a checkpoint; press Ctrl-C again to quit")
	}
	return nil
}
