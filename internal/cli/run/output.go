package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/lines"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/store"
)

// An output shows a run on standard output in the form that was asked for:
//
//   - json: one event a line and nothing else; full events, or the journal's records;
//   - text: the final answer and nothing else;
//   - progress: lines for a person, the last of which are drawn again on a terminal.
//
// What is to be said about the end of the run goes to standard error.
type output struct {
	opts    *Options
	plan    *plan
	expert  *expert.Expert // the coordinator
	began   bool           // something is recorded
	changed bool           // the run changed files
	mode    string
	to      *patientWriter
	json    *event.Writer
	rows    *lines.Printer
	live    *lines.Live // instead of rows, where lines can be drawn again

	closeLive func()

	delegated map[string]bool // Runs, by whether another Expert asked
	refused   map[string]bool // hosts that were refused, and to whom
	story     narrate.Narrator
}

// maxRefused is how many refused hosts are told of, where only the answer is wanted.
const maxRefused = 20

// newOutput returns the output of a plan. stdout is standard output without regard to questions.
func newOutput(ctx context.Context, pl *plan, stdout io.Writer) *output {
	o := pl.opts
	out := &output{
		opts: o, plan: pl, expert: pl.spec.Coordinator(), mode: o.Output, to: &patientWriter{ctx: ctx, w: o.Host.Stdout},
		delegated: make(map[string]bool), refused: make(map[string]bool),
	}
	if o.View != nil {
		out.mode = outputView
	}
	if out.mode == "" {
		out.mode = outputJSON
		if o.Host.StdoutIsTerminal {
			out.mode = outputProgress
		}
	}
	switch out.mode {
	case outputJSON:
		out.json = event.NewWriter(out.to)
	case outputProgress:
		if out.startLive(ctx, stdout) {
			break
		}
		out.rows = lines.New(o.Host.Plain(out.to), lines.Options{
			Color:   o.Host.StdoutIsTerminal && o.Host.Colors(),
			Width:   o.Host.Width,
			Verbose: o.Verbose,
			Redact:  o.Host.Secrets.Redact,
		})
	}
	return out
}

// full reports whether events are wanted in their full form.
func (o *output) full() bool { return o.mode == outputJSON && o.opts.Events != eventsLean }

// recordFunc prints the records of the journal, if they are wanted.
func (o *output) recordFunc() func(store.Record) error {
	if o.mode != outputJSON || o.full() {
		return nil
	}
	return func(r store.Record) error { return o.json.WriteLine(r.Line) }
}

// show shows an event. It also notices that the Expert has begun: before, an image can be
// made, and stopping that leaves nothing to save.
func (o *output) show(e event.Event) error {
	if _, ok := e.Body.(event.StartRun); ok && !o.began {
		o.began = true
		o.opts.Host.Saves()
	}
	o.seeFiles(e)
	switch {
	case o.mode == outputView:
		o.opts.View.Show(e)
		return nil
	case o.live != nil:
		return o.live.Emit(e)
	case o.mode == outputProgress:
		return o.rows.Emit(e)
	case o.full():
		return errors.Join(o.note(e), o.json.Write(e))
	}
	return o.note(e)
}

// note prints what --verbose promises. With the answer alone on standard output, nothing
// else tells that an Expert is not any more what it was, or that a delegate failed.
func (o *output) note(e event.Event) error {
	say := func(about, text string) {
		fmt.Fprintf(o.opts.Host.Stderr, "%s: %s\n", terminal.CleanLine(about), terminal.CleanLine(text))
	}
	if o.mode == outputText {
		switch b := e.Body.(type) {
		case event.DefinitionChanged:
			say("perstack", "the definition of expert "+b.Expert+" has changed since the job began; it continues with the new one")
		case event.StartRun:
			o.delegated[e.RunID] = b.DelegatedBy != nil
			o.story.Apply(e) // it has the isolation of the job
		case event.ProxyAccess:
			if seen := narrate.Asker(b) + " " + b.Domain; b.Action != "allowed" && !o.refused[seen] && len(o.refused) < maxRefused {
				o.refused[seen] = true // once: a program that is refused often tries again
				if !o.blocked(e) {
					say("perstack", narrate.Asker(b)+" was kept from "+b.Domain+": "+narrate.Refusal(b))
				}
			}
		case event.SandboxHint: // a Run has few of them
			o.blocked(e)
		case event.StopRunByError:
			if o.delegated[e.RunID] { // its parent continues, and perhaps does not mention it
				say("perstack", "the delegate "+e.ExpertKey+" failed: "+b.Error.Message)
			}
		}
	}
	if !o.opts.Verbose {
		return nil
	}
	switch b := e.Body.(type) {
	case event.Retry:
		say("retry", b.Reason)
	case event.SkillStarting:
		say(b.SkillName, "starting "+terminal.ShellJoin(append([]string{b.Command}, b.Args...)...))
	case event.SkillStderr:
		say(b.SkillName, b.Message)
	}
	return nil
}

// blocked prints what a sandbox kept a program from, and how to allow it. It reports whether e is
// about that.
func (o *output) blocked(e event.Event) (found bool) {
	for _, r := range narrate.Rows(o.story.Apply(e)) {
		if r.Label != narrate.SandboxLabel {
			continue
		}
		found = true
		fmt.Fprintf(o.opts.Host.Stderr, "perstack: sandbox: %s\n", terminal.CleanLine(r.Summary))
		texts := lines.Remedies(r.Remedy)
		for _, t := range r.Body {
			texts = append(texts, t.Text)
		}
		for _, text := range texts {
			fmt.Fprintf(o.opts.Host.Stderr, "        %s\n", strings.ReplaceAll(terminal.Clean(text), "\n", " "))
		}
	}
	return found
}

// outputClosed is why a run stops when no program reads its output.
func outputClosed(err error) error {
	if closed, ok := errors.AsType[*host.ClosedOutputError](err); ok {
		return closed
	}
	return fmt.Errorf("output closed: %w", err)
}

// patience is how long a run that was told to stop waits for its output to be read.
const patience = 2 * time.Second

// errUnread is the error of a write that the reader does not take.
var errUnread = errors.New("the output is not being read")

// A patientWriter writes like the writer in it, until its context is done. From then on
// a write that does not come through is given up, so that a reader who has stopped
// reading cannot keep a run from ending. It is for one goroutine.
type patientWriter struct {
	ctx context.Context
	w   io.Writer
	err error
}

// Write waits for the write in a goroutine of its own. After a failure every further write
// fails the same way.
func (p *patientWriter) Write(data []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	done := make(chan error, 1)
	go func() {
		_, err := p.w.Write(data)
		done <- err
	}()
	select {
	case p.err = <-done:
	case <-p.ctx.Done():
		select {
		case p.err = <-done:
		case <-time.After(patience):
			p.err = errUnread // the goroutine stays with its write; the process ends soon
		}
	}
	if p.err != nil {
		return 0, p.err
	}
	return len(data), nil
}
