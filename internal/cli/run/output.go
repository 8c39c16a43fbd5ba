package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/progress"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/store"
)

// An output shows a run on standard output in the form that was asked for:
//
//   - json: one event a line and nothing else; full events, or the journal's records;
//   - text: the final answer and nothing else;
//   - progress: lines for a person.
//
// What is to be said about the end of the run goes to standard error.
type output struct {
	opts   *Options
	expert *expert.Expert // the coordinator
	limits expert.Limits  // of the job
	file   expert.Limits  // what perstack.toml says of them
	began  bool           // something is recorded
	docker bool           // the runtime, and not that of the file
	job    event.Job      // as it was recorded before this run
	mode   string
	to     *patientWriter
	json   *event.Writer
	rows   *progress.Printer

	delegated map[string]bool // Runs, by whether another Expert asked
	refused   map[string]bool // hosts that were refused, and to whom
}

// maxRefused is how many refused hosts are told of, where only the answer is wanted.
const maxRefused = 20

func newOutput(ctx context.Context, s *setup, e *expert.Expert, job event.Job) *output {
	o := s.opts
	out := &output{delegated: make(map[string]bool), refused: make(map[string]bool), opts: o, expert: e, limits: s.limits, file: s.config.Limits, docker: s.dockerOnly(), job: job, mode: o.Output, to: newPatientWriter(ctx, o.Host.Stdout)}
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
		out.rows = progress.New(out.to, progress.Options{
			Color:   o.Host.StdoutIsTerminal && o.Host.Getenv("NO_COLOR") == "" && o.Host.Getenv("TERM") != "dumb",
			Width:   o.Host.Width,
			Verbose: o.Verbose,
			Redact:  o.Host.Secrets.Redact,
		})
	}
	return out
}

func (o *output) close() { o.to.Close() }

// listener also notices that the Expert has begun. Before, an image may be made, and who
// stops that has nothing to save.
func (o *output) listener() engine.Listener {
	l := o.shown()
	show := l.Emit
	l.Emit = func(e event.Event) error {
		if _, ok := e.Body.(event.StartRun); ok && !o.began {
			o.began = true
			o.opts.Host.Saves()
		}
		return show(e)
	}
	return l
}

func (o *output) shown() engine.Listener {
	switch {
	case o.mode == outputJSON && o.opts.Events == eventsLean:
		return engine.Listener{Emit: o.note, Record: o.record}
	case o.mode == outputJSON:
		return engine.Listener{Emit: o.event, Full: true}
	case o.mode == outputProgress:
		return engine.Listener{Emit: o.rows.Emit}
	}
	return engine.Listener{Emit: o.note}
}

func (o *output) event(e event.Event) error {
	return errors.Join(o.note(e), o.json.Write(e))
}

func (o *output) record(r store.Record) error { return o.json.WriteLine(r.Line) }

// note prints what --verbose promises. With the answer alone on standard output, nothing
// else tells that an Expert is not any more what it was, or that a delegate failed.
func (o *output) note(e event.Event) error {
	say := func(about, text string) {
		fmt.Fprintf(o.opts.Host.Stderr, "%s: %s\n", terminal.CleanLine(about), terminal.CleanLine(text))
	}
	if o.mode == outputText {
		switch b := e.Body.(type) {
		case event.DefinitionChanged:
			say("perstack", "the definition of expert "+b.Expert+" has changed since the job began; it goes on with the new one")
		case event.StartRun:
			o.delegated[e.RunID] = b.DelegatedBy != nil
		case event.ProxyAccess:
			if seen := b.Who() + " " + b.Domain; b.Action != "allowed" && !o.refused[seen] && len(o.refused) < maxRefused {
				o.refused[seen] = true // once: a program that is refused often tries again
				say("perstack", b.Who()+" was kept from "+b.Domain+": "+b.Why())
			}
		case event.StopRunByError:
			if o.delegated[e.RunID] { // the one that asked goes on, and may not say a word about it
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
		say(b.SkillName, "starting "+strings.Join(append([]string{b.Command}, b.Args...), " "))
	case event.SkillStderr:
		say(b.SkillName, b.Message)
	}
	return nil
}
