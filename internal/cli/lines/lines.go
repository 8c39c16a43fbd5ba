// Package lines draws the rows of a job as lines for a person: as they come, for
// `perstack run`, and as a record, for `perstack log`.
//
// It lays out and colours what [narrate] derives from the events, and decides nothing
// else. A [Printer] only adds lines, so its output can be scrolled, copied and redirected. It
// reads no clock and keeps no text after it was printed. A [Live] shows a job on a terminal
// while it runs: the rows of a Printer, and a few lines below that are drawn again. Start
// reading at [New], then [Printer.Print], then [Live.Emit].
package lines

// The rules of the output:
//
//  1. A row is a bullet, a label and a summary. Its body is below, the first line
//     after "└ ". Rows are written whole, one Write an event.
//  2. Everything that came from a model, a tool, a file or a user is cleaned where it
//     is drawn (row.go), so no row can forget it: control sequences and marks that
//     reorder text never reach the terminal, and a body cannot leave its indentation.
//  3. Bodies are cut to a few lines. Lines of files and commands are cut to
//     the width, prose is wrapped. What ends the run is wrapped and never cut, since
//     the user has to read it: the answer, the question of an interactive tool. Of an
//     error the first line is enough: the command that ends says it in full.
//     Width is counted in columns: 日 takes two.
//  4. A command is quoted as for a shell and wrapped, never cut in the middle (command.go).
//  5. Rows of a delegate are indented by 2 a level, below a line that names it, and name
//     it themselves while several are at work.
//  6. Colours help and never carry the meaning alone: without them, nothing is lost.
//  7. What is running is a dim line without a bullet (notes.go), or a line of the region
//     (frame.go); the row of the call follows when it ends.
//  8. A failed write is returned at once, and the run stops.

import (
	"bytes"
	"fmt"
	"io"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/markdown"
	"github.com/perstack-go/perstack/internal/narrate"
)

// Options change how a [Printer] prints.
type Options struct {
	// Color allows colours. The caller knows whether there is a terminal and what
	// NO_COLOR says.
	Color bool
	// Width is the number of columns of the terminal; 0 if there is none to ask. Then
	// prose is not wrapped, and very long lines are cut all the same.
	Width int
	// Verbose adds rows about skills, containers and the network.
	Verbose bool
	// Record prints for reading afterwards: calls when the model makes them and again
	// with their result, what delegates returned, ids of Runs, and every row without
	// regard to whose Run it belongs to.
	Record bool
	// Texts shows all of what the user and models wrote, and all of an error.
	Texts bool
	// Whole cuts nothing, and adds the arguments and the whole result of each call.
	Whole bool
	// Markdown lays out what models wrote. It needs a Width.
	Markdown bool
	// Label returns the word that a row begins with, such as "Tool" or the name of an Expert. It
	// takes the place of bullets, colours and indentation: labels.go. Nothing is drawn again then.
	Label func(narrate.Row) string
	// Times says how long calls took.
	Times bool
	// Live prints what stays above a region that shows the rest: short rows, with times.
	Live bool
	// Redact takes secrets out of text; nil leaves it. Events hold none but those that
	// a model or the user wrote.
	Redact func(string) string
}

// A Printer prints the events of a job, for one goroutine.
type Printer struct {
	w        io.Writer
	opts     Options
	narrator narrate.Narrator
	current  string            // the delegate's Run that the last row belongs to
	watches  map[string]*watch // of the calls that are running, by row
	image    watch             // of the image that is made
	making   bool              // something was said about it
	out      bytes.Buffer      // the lines of the current event
	prompted bool              // a prompt shows questions
	// introduced says that the last row was that of a delegate.
	introduced bool
	// arrived returns the lines of a text that was laid out while it was written; nil if none was.
	arrived func(r narrate.Row, text string, width int) ([]markdown.Line, bool)
}

// New returns a Printer that prints to w.
func New(w io.Writer, opts Options) *Printer {
	if opts.Redact == nil {
		opts.Redact = func(text string) string { return text }
	}
	return &Printer{w: w, opts: opts, watches: make(map[string]*watch)}
}

// Emit prints what e has to tell a person, which is often nothing.
func (p *Printer) Emit(e event.Event) error { return p.Print(narrate.Rows(p.narrator.Apply(e))) }

// Print prints rows that are new or have changed.
func (p *Printer) Print(rows []narrate.Row) error {
	p.out.Reset()
	for _, r := range rows {
		p.row(r)
	}
	return p.flush()
}

// flush writes the lines of an event.
func (p *Printer) flush() error {
	if p.out.Len() == 0 {
		return nil
	}
	if _, err := p.w.Write(p.out.Bytes()); err != nil {
		return fmt.Errorf("print progress: %w", err)
	}
	return nil
}

// Note prints a dim line beside the rows of the Run that r belongs to.
func (p *Printer) Note(r narrate.Row, text string) error {
	p.out.Reset()
	p.dim(p.enter(r), text)
	return p.flush()
}

// Shows reports whether r is drawn as a row. Of what is running, only notes are printed.
func (p *Printer) Shows(r narrate.Row) bool {
	running := r.State == narrate.Running
	switch {
	case p.opts.Record:
		return r.Kind != narrate.Tool || !running
	case r.Repeats, r.State == narrate.Pending, r.Minor && !p.opts.Verbose:
		return false
	case p.opts.Live && p.omits(r):
		return false
	case r.Kind == narrate.Delegate:
		return running // its answer has a row in its own Run
	case r.Kind == narrate.Tool:
		return !running
	case p.opts.Verbose:
		return true
	case r.Kind == narrate.Skill:
		return !running
	case r.Kind == narrate.Image:
		return r.State == narrate.Failed
	case r.Kind == narrate.Network:
		return isPowerOfTen(r.Times) // a program that tries again and again must not fill the screen
	}
	return true
}

// row prints a row, if this is the time to show it.
func (p *Printer) row(r narrate.Row) {
	running := r.State == narrate.Running
	switch {
	case p.Shows(r):
		delete(p.watches, r.ID)
		p.draw(r)
	case p.opts.Record, r.Repeats, r.Minor:
	case p.opts.Label != nil:
		p.labelledStart(r)
	case r.Kind == narrate.Image:
		p.progress(r)
	case p.opts.Live: // the region shows it
	case r.Kind == narrate.Tool && running:
		p.running(r)
	case r.Kind == narrate.Skill && running:
		p.starting(r, "skill "+r.Summary+":")
	}
}

func isPowerOfTen(n int) bool {
	for n >= 10 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}

// A place is where a row is drawn, and whose it is if that must be said.
type place struct {
	depth int
	tag   string
}

// maxDepth keeps rows of a deep delegation on the screen.
const maxDepth = 8

// enter returns the place of a row, and prints the line above it that names its Expert. As
// long as one delegate works after the other, that is enough. While several do, their
// rows come in any order, and each names its Expert.
func (p *Printer) enter(r narrate.Row) place {
	if p.opts.Record {
		return place{depth: 1}
	}
	if r.Depth == 0 {
		p.current = ""
		return place{}
	}
	at := place{depth: min(r.Depth, maxDepth)}
	name := r.Expert
	if name == "" {
		name = "delegate"
	}
	if r.Parallel {
		at.tag = "[" + name + "] "
	} else if p.current != r.Run {
		p.dim(at, "["+name+"]")
	}
	p.current = r.Run
	return at
}
