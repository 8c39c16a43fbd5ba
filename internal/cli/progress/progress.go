// Package progress shows a run as it happens, as lines for a person at a terminal.
//
// A [Printer] receives the events of a job, derives from them what a person cares
// about ([event.Timeline]) and prints each finding once, as soon as it is known, and a
// line for a slow call that starts. Nothing is redrawn but the bar of an image that is
// made, on a terminal, so the output may be scrolled, copied and redirected. It never decides about a run, reads no clock and keeps no
// text after it was printed. Start reading at [New].
package progress

// The rules of the output:
//
//  1. A row is a bullet, a label and a summary. Its body stands below, the first line
//     behind "└ ". Rows are written whole, one Write an event.
//  2. Everything that came from a model, a tool, a file or a user is cleaned where it
//     is drawn (row.go), so no row can forget it: control sequences and marks that
//     reorder text never reach the terminal, and a body cannot leave its indentation.
//  3. Bodies are cut to Options.Lines lines. Lines of files and commands are cut to
//     the width, prose is wrapped. What ends the run is wrapped and never cut, since
//     the user has to read it: the answer, the question of an interactive tool. Of an
//     error the first line is enough: whoever ends the program says it in full.
//     Width is counted in columns: 日 takes two.
//  4. Rows of a delegate are indented by 2 a level, below a line that names it, and name
//     it themselves while several are at work (delegate.go).
//  5. Colours help and never carry the meaning alone: without them, nothing is lost.
//  6. What is under way is a dim line without a bullet (live.go, skill.go); the row of a
//     call follows.
//  7. Only the bar of an image has no end of line (image.go). What comes next erases it.
//  8. A failed write is returned at once. Nobody watches any more, and the run stops.

import (
	"bytes"
	"fmt"
	"io"

	"github.com/perstack-go/perstack/event"
)

// Options change how a [Printer] prints.
type Options struct {
	// Color allows colours. The caller knows whether there is a terminal and what
	// NO_COLOR says.
	Color bool
	// Width is the number of columns of the terminal; 0 if there is none to ask. Then
	// prose is not wrapped, and very long lines are cut all the same.
	Width int
	// Lines is how many lines of a body are shown; 0 means 4.
	Lines int
	// Verbose adds rows about skills, containers and the network.
	Verbose bool
	// Redact takes secrets out of text; nil leaves it. Events hold none but those that
	// a model or the user wrote.
	Redact func(string) string
}

// A Printer prints the events of a job, for one goroutine.
type Printer struct {
	w        io.Writer
	opts     Options
	timeline event.Timeline
	job      string                     // the job that was announced
	celled   string                     // the job of whose cells was told
	lanes    map[string]*lane           // of the Runs of delegates
	runs     map[string]int             // of delegates, by Expert
	working  map[string]bool            // Runs of delegates that have started and not stopped
	failed   map[string]map[string]bool // calls of delegates that came back with an error, by the Run that asked
	current  string                     // the delegate's Run that the last row belongs to
	thought  map[string]bool            // Runs of whose generation the reasoning was shown
	watches  map[callKey]*watch         // of the calls that are running
	servers  map[skillKey]bool          // of skills, that have been started
	refusals map[refusal]int            // of the network, by what was refused
	making   imageView                  // of the image that is made
	unended  bool                       // the last line is a bar
	out      bytes.Buffer               // the rows of the current event
}

const defaultLines = 4

// New returns a Printer that prints to w.
func New(w io.Writer, opts Options) *Printer {
	if opts.Lines <= 0 {
		opts.Lines = defaultLines
	}
	if opts.Redact == nil {
		opts.Redact = func(text string) string { return text }
	}
	return &Printer{w: w, opts: opts, lanes: make(map[string]*lane), runs: make(map[string]int), working: make(map[string]bool), failed: make(map[string]map[string]bool),
		thought: make(map[string]bool), watches: make(map[callKey]*watch), servers: make(map[skillKey]bool), refusals: make(map[refusal]int)}
}

// Emit prints what e has to tell a person, which is often nothing. The events may be
// in either density.
func (p *Printer) Emit(e event.Event) error {
	if e.Body == nil {
		return nil
	}
	p.out.Reset()
	p.follow(e)
	for _, r := range p.notes(e) {
		p.draw(p.enter(e.RunID), r)
	}
	bar := p.image(e)
	p.skill(e)
	activities := p.timeline.Apply(e)
	p.live(e)
	for _, a := range activities {
		p.reasoning(a, a.Reasoning)
		p.draw(p.enterOf(a), p.activity(a))
	}
	p.forget(e)
	if p.out.WriteString(bar); p.out.Len() == 0 {
		return nil
	}
	text := p.out.Bytes()
	if p.unended {
		text = append([]byte(eraseLine), text...)
	}
	p.unended = bar != ""
	if _, err := p.w.Write(text); err != nil {
		return fmt.Errorf("print progress: %w", err)
	}
	return nil
}
