package plain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/cli/lines"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/tui"
	"github.com/perstack-go/perstack/internal/wording"
)

// A session is what happens from the first line to the last, in one goroutine.
type session struct {
	ctx   context.Context
	opts  Options
	out   *output
	typed chan line
	stop  chan struct{} // closed at the end
	asker *asker
	last  string // the job that was used last; empty if there was none

	expert  string // to which the next message goes
	speaker string // the coordinator of the open job
	job     string // the open one; empty for a new one
	follows bool   // another process works on the open job
	from    *point // where the next message branches; nil for the newest state
	files   []tui.Attachment
	queue   []string // messages that wait for the job to end
	partial string   // the lines of a message that is continued

	story   narrate.Narrator
	rows    []narrate.Row  // of the open job
	index   map[string]int // of rows
	pending []narrate.Row  // questions and approvals that the open job waits for
	runs    []narrate.Run
	totals  narrate.Totals
	printer *lines.Printer

	menu    *menu    // what a number selects
	confirm *confirm // what a word confirms
	asks    []*ask   // of the job that works; the first one is shown
	work    *work    // the job that works, or is followed
	echoed  bool     // the user has typed the next query at the prompt
	warned  bool     // Ctrl-C was pressed once while nothing worked
	ended   bool     // the input has ended
}

// A point is a checkpoint from which a branch starts.
type point struct {
	tui.Checkpoint
	files bool // the files of the workspace return to it, too
}

// A confirm is an action that needs a word.
type confirm struct {
	word string
	do   func() error
}

func newSession(ctx context.Context, opts Options) *session {
	s := &session{
		ctx: ctx, opts: opts, out: &output{w: opts.Out, now: opts.Clock, wrote: opts.Clock()},
		typed: make(chan line), stop: make(chan struct{}), asker: newAsker(),
		expert: opts.Expert, speaker: opts.Expert,
	}
	s.forget()
	go read(opts.In, opts.Clock, s.typed, s.stop)
	return s
}

// close ends what still works.
func (s *session) close() {
	close(s.stop)
	if s.work != nil {
		s.work.cancel()
	}
}

// forget drops what is known of the open job.
func (s *session) forget() {
	s.story, s.rows, s.index, s.pending, s.runs = narrate.Narrator{}, nil, make(map[string]int), nil, nil
	s.totals, s.from, s.follows = narrate.Totals{}, nil, false
	s.printer = s.newPrinter()
}

// loop is the whole session.
func (s *session) loop() error {
	why := ""
	if s.opts.Why != "" {
		why = " (" + s.opts.Why + ")"
	}
	s.say("perstack", fmt.Sprintf("plain mode%s, project %s. Type /help for the commands.", why, s.opts.Name))
	if err := s.enter(); err != nil {
		return err
	}
	for {
		if err := s.step(); err != nil {
			return err
		}
	}
}

// enter opens what the user asked for: a job, an Expert, else the history, else a list of Experts.
func (s *session) enter() error {
	switch {
	case s.opts.Job != "":
		if err := s.open(s.opts.Job); err != nil {
			return err
		}
		if s.opts.Expert != "" {
			s.expert = s.opts.Expert
		}
	case s.opts.Expert != "":
	default:
		s.report(s.entryMenu())
	}
	if s.opts.Query != "" && s.expert != "" {
		s.say("You", s.opts.Query)
		s.echoed = true
		return s.send(s.opts.Query)
	}
	return nil
}

func (s *session) entryMenu() error {
	jobs, err := s.readJobs(1)
	if err != nil {
		return err
	}
	if len(jobs) > 0 {
		return s.history("")
	}
	return s.experts("")
}

// report shows an error that does not end the session.
func (s *session) report(err error) {
	if err != nil && !errors.Is(err, errQuit) {
		s.fail(err)
	}
}

// step waits for the next thing and does it.
func (s *session) step() error {
	if s.ended && s.work == nil && len(s.queue) == 0 {
		return errQuit
	}
	if s.work == nil && len(s.queue) > 0 {
		text := s.queue[0]
		s.queue = s.queue[1:]
		return s.keep(s.send(text))
	}
	s.showPrompt()
	var typed chan line
	if s.listens() {
		typed = s.typed
	}
	var events chan told
	var quiet <-chan time.Time
	var notices chan string
	if w := s.work; w != nil {
		if events, notices = w.events, s.asker.notices; s.isDeciding() {
			events = nil
		}
		timer := time.NewTimer(s.untilQuiet())
		defer timer.Stop()
		quiet = timer.C
	}
	var closed <-chan struct{}
	if len(s.asks) > 0 {
		closed = s.asks[0].ctx.Done()
	}
	select {
	case l := <-typed:
		return s.keep(s.entered(l))
	case t := <-events:
		s.closeAsks()
		s.take(t)
	case notice := <-notices:
		s.say("Note", notice)
	case a := <-s.asker.asks:
		s.drain()
		s.asks = append(s.asks, a)
		if len(s.asks) == 1 {
			s.showAsk()
		}
	case <-closed:
		s.closeAsks()
	case <-quiet:
		s.stillWorking()
	case <-s.opts.Interrupts:
		return s.interrupt()
	case <-s.ctx.Done():
		return s.leave()
	}
	return s.out.err
}

// isDeciding reports whether a person is to allow something. Until then the job tells nothing more: what
// another Run says could look like the question, and would stand between it and the answer.
func (s *session) isDeciding() bool {
	return s.opts.Terminal && len(s.asks) > 0 && s.asks[0].isApproval()
}

// keep shows an error, unless it ends the session.
func (s *session) keep(err error) error {
	if errors.Is(err, errQuit) || s.out.err != nil {
		return errors.Join(err, s.out.err)
	}
	s.report(err)
	return nil
}

// listens reports whether a line of the input is taken now. From a person it always is.
func (s *session) listens() bool {
	if s.ended {
		return false
	}
	return s.opts.Terminal || s.work == nil || len(s.asks) > 0
}

// showPrompt says what is expected from a person.
func (s *session) showPrompt() {
	if !s.opts.Terminal || s.ended {
		return
	}
	switch {
	case len(s.asks) > 0:
		s.out.prompt(s.asks[0].prompt())
	case s.work != nil:
	case s.confirm != nil:
		s.out.prompt("Type " + s.confirm.word + ":")
	case s.menu != nil:
		s.out.prompt("Number:")
	case s.partial != "":
		s.out.prompt("...")
	default:
		s.out.prompt("You:")
	}
}

// entered does what a line says.
func (s *session) entered(l line) error {
	s.warned = false
	if l.err == nil {
		s.out.entered()
	}
	switch {
	case l.err != nil:
		s.ended = true
		s.dropAsks()
		if !errors.Is(l.err, io.EOF) {
			return fmt.Errorf("read the input: %w", l.err)
		}
		return nil
	case l.size > maxLine:
		return fmt.Errorf("the line has %s, and %s is the most; attach a file instead, with /attach", wording.Bytes(int64(l.size)), wording.Bytes(maxLine))
	case len(s.asks) > 0:
		return s.toAsk(l)
	case s.confirm != nil:
		c := s.confirm
		s.confirm = nil
		if strings.TrimSpace(l.text) != c.word {
			s.say("Note", "nothing was changed")
			return nil
		}
		return c.do()
	}
	if name, arg, ok := s.command(l.text); ok && s.partial == "" {
		return s.do(name, arg)
	}
	if s.menu != nil && s.partial == "" {
		return s.choose(strings.TrimSpace(l.text))
	}
	if text, more := strings.CutSuffix(l.text, `\`); more {
		s.partial += text + "\n"
		return nil
	}
	text := s.partial + l.text
	s.partial = ""
	return s.message(text)
}

// message sends a message, now or after the job that works.
func (s *session) message(text string) error {
	if rest, ok := strings.CutPrefix(text, "//"); ok {
		text = "/" + rest
	}
	switch {
	case strings.TrimSpace(text) == "":
		return nil
	case len(text) > maxLine:
		return fmt.Errorf("the message has %s, and %s is the most; attach a file instead, with /attach", wording.Bytes(int64(len(text))), wording.Bytes(maxLine))
	case s.work != nil && s.follows:
		return errors.New("another perstack works on this job, so it can only be followed; /branch starts a branch of it")
	case s.work != nil:
		s.queue = append(s.queue, text)
		s.say("Queued", "it is sent when the job has stopped; /unqueue takes it back")
		return nil
	}
	s.echoed = s.opts.Terminal
	return s.send(text)
}

// interrupt is Ctrl-C: it stops the job, or warns. Pressed again, it quits.
func (s *session) interrupt() error {
	s.menu, s.confirm, s.partial = nil, nil, ""
	switch w := s.work; {
	case w != nil && !w.stopped:
		return s.stopWork()
	case w == nil && !s.warned:
		s.warned = true
		s.say("Note", "press Ctrl-C again to quit")
		return nil
	}
	return errQuit
}

// leave stops the job, waits for its end and quits. Ctrl-C ends the waiting.
func (s *session) leave() error {
	if s.work != nil {
		s.work.stopped = true
		s.work.cancel()
	}
	for s.work != nil {
		select {
		case t := <-s.work.events:
			s.take(t)
		case notice := <-s.asker.notices:
			s.say("Note", notice)
		case <-s.opts.Interrupts:
			return errQuit
		}
	}
	return errQuit
}

// farewell says how to continue.
func (s *session) farewell() {
	if s.last != "" {
		s.say("Resume", s.opts.Project.Resume(s.last))
	}
}

// await does something that can take its time. The user can give it up with Ctrl-C.
func await[T any](s *session, do func(context.Context) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	done := make(chan outcome, 1)
	go func() {
		v, err := do(ctx)
		done <- outcome{v, err}
	}()
	ticker := time.NewTicker(quietFor)
	defer ticker.Stop()
	began := s.opts.Clock()
	for {
		select {
		case o := <-done:
			return o.value, o.err
		case <-ticker.C:
			s.say("Note", "still loading, "+lines.Duration(s.opts.Clock().Sub(began)))
		case <-s.opts.Interrupts:
			var none T
			return none, errors.New("given up")
		case <-s.ctx.Done():
			var none T
			return none, errQuit
		}
	}
}

// short is the beginning of an id that people see.
func short(id string) string { return wording.CutRunes(terminal.CleanLine(id), 8, "") }
