package plain

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/cli/lines"
	"github.com/perstack-go/perstack/internal/narrate"
	"github.com/perstack-go/perstack/internal/terminal"
)

// An output writes lines. A prompt has no end of line, so that a person types behind it: what is
// written next begins a new line.
type output struct {
	w     io.Writer
	now   func() time.Time
	ring  bool      // the bell is rung with what is written next
	open  bool      // the last line is a prompt
	wrote time.Time // when something was last written
	err   error     // the first of writing
}

func (o *output) Write(data []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	if o.ring {
		data = append([]byte("\a"), data...)
	}
	if o.open && len(data) > 0 {
		data = append([]byte("\n"), data...)
	}
	o.open, o.ring, o.wrote = false, false, o.now()
	if _, err := o.w.Write(data); err != nil {
		o.err = fmt.Errorf("write: %w", err)
		return 0, o.err
	}
	return len(data), nil
}

// prompt shows where the user types.
func (o *output) prompt(text string) {
	if o.open {
		return
	}
	_, _ = o.Write([]byte(text + " ")) // the error is kept
	o.open = true
}

// entered says that the user has ended the line of the prompt.
func (o *output) entered() { o.open = false }

// say writes a text behind a label. It is cleaned, and its further lines are indented.
func (s *session) say(label, text string) {
	text = strings.Trim(s.opts.Redact(terminal.Clean(text)), "\n")
	var b bytes.Buffer
	b.WriteString(terminal.CleanLine(label) + ":")
	for i, l := range strings.Split(text, "\n") {
		switch {
		case i == 0 && l != "":
			b.WriteString(" " + l)
		case i > 0:
			b.WriteString(strings.TrimRight("\n  "+l, " "))
		}
	}
	b.WriteByte('\n')
	_, _ = s.out.Write(b.Bytes()) // the error is kept
}

// fail says that something did not work.
func (s *session) fail(err error) { s.say("Error", err.Error()) }

// defaultWidth is that of the lines where there is no terminal.
const defaultWidth = 100

// newPrinter returns what writes the rows of a job.
func (s *session) newPrinter() *lines.Printer {
	return lines.New(s.out, lines.Options{
		Label: s.label, Texts: true, Markdown: true, Width: cmp.Or(s.opts.Width, defaultWidth), Redact: s.opts.Redact,
	})
}

// label is the word with which a row begins.
func (s *session) label(r narrate.Row) string {
	of := func(what string) string {
		if r.Depth > 0 {
			return what + " of " + r.Expert
		}
		return what
	}
	switch r.Kind {
	case narrate.Query, narrate.Answer:
		return "You"
	case narrate.Message, narrate.Result:
		if r.Depth > 0 {
			return r.Expert
		}
		return s.speaker
	case narrate.Reasoning:
		return of("Thought")
	case narrate.Tool, narrate.Provider:
		return of("Tool")
	case narrate.Delegate, narrate.Returned:
		return "Delegate"
	case narrate.Question:
		if r.Label == "Question" {
			return of("Question")
		}
		return of("Approval")
	case narrate.Failure:
		return of("Error")
	case narrate.Definition, narrate.Container, narrate.Image:
		return "Note"
	}
	if r.Label != "" {
		return of(r.Label)
	}
	return "Note"
}

// time is a time of the history, where the user is.
func (s *session) time(ms int64) time.Time { return time.UnixMilli(ms).In(s.opts.Clock().Location()) }
