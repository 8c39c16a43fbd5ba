package lines

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/markdown"
	"github.com/perstack-go/perstack/internal/narrate"
)

// LiveOptions change what a [Live] shows.
type LiveOptions struct {
	Color   bool
	Verbose bool
	// ASCII says that the terminal does not show UTF-8.
	ASCII  bool
	Redact func(string) string
	// Size returns the columns and rows of the terminal now; 0 if nothing can be drawn on it.
	Size func() (columns, rows int)
	// Now is the clock of the job.
	Now func() time.Time
	// Done is closed when the job is told to stop; nil for never.
	Done <-chan struct{}
	// Sandbox says where programs run, for the first line.
	Sandbox string
}

// A Live shows a job on a terminal while it runs: rows that stay, and below them a few lines that say
// what is happening now. They are drawn again every [Frame], so that a person sees that perstack is
// alive, whatever it waits for. It needs nothing of the terminal but that lines can be erased.
//
// Its methods can be called from several goroutines.
type Live struct {
	opts LiveOptions

	mu       sync.Mutex
	region   region
	printer  *Printer
	printed  bytes.Buffer // by the printer, for the present event
	narrator narrate.Narrator

	runs   []*liveRun // that have started and not ended, in this order
	totals narrate.Totals
	image  *narrate.Row // that is being made
	headed bool
	began  int64 // milliseconds: when it was made

	drawn   time.Time
	turn    int          // of the spinner
	paused  int          // how many callers need the terminal for themselves
	held    bytes.Buffer // lines that are kept back meanwhile
	resumed sync.Cond
	closed  bool // the region is gone for good
	unended bool // another writer has not ended its line
	err     error

	stop, stopped chan struct{}
}

// A liveRun is a Run of which something is shown.
type liveRun struct {
	status  narrate.Run
	stream  *stream       // what its model is writing; nil between generations
	written *stream       // what it wrote last; the row of it can follow
	running []narrate.Row // tools and skills
}

const (
	// Frame is how often the region is drawn at least.
	Frame = 100 * time.Millisecond
	// minFrame is how often it is drawn at most while text arrives.
	minFrame = Frame / 3
	// maxHeld is how much is kept back during a question. Then the job waits for the answer.
	maxHeld = 1 << 20
)

// NewLive shows a job on w. The region is there until [Live.Close].
func NewLive(w io.Writer, o LiveOptions) *Live {
	l := &Live{opts: o, region: region{w: w}, stop: make(chan struct{}), stopped: make(chan struct{})}
	l.printer = New(&l.printed, Options{Color: o.Color, Verbose: o.Verbose, Redact: o.Redact, Markdown: true, Live: true})
	l.printer.arrived = l.arrived
	l.resumed.L = &l.mu
	l.began = l.now()
	l.resize()
	l.show("")
	go l.spin()
	return l
}

// spin draws the region again and again.
func (l *Live) spin() {
	defer close(l.stopped)
	ticker := time.NewTicker(Frame)
	defer ticker.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-ticker.C:
			l.mu.Lock()
			l.turn++
			l.show("")
			l.mu.Unlock()
		}
	}
}

// Emit shows what an event changes.
func (l *Live) Emit(e event.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resize()
	l.printed.Reset()
	if b, ok := e.Body.(event.InitializeRuntime); ok && !l.headed {
		l.headed = true
		l.head(b, e.JobID)
	}
	for _, c := range l.narrator.Apply(e) {
		switch c := c.(type) {
		case narrate.Row:
			if err := l.row(c); err != nil {
				return err
			}
		case narrate.Stream:
			l.text(c)
		case narrate.Run:
			l.runAt(c.ID).status = c
		case narrate.Totals:
			l.totals = c
		}
	}
	l.runs = slices.DeleteFunc(l.runs, func(r *liveRun) bool { return r.status.Phase.IsOver() })
	for l.held.Len() > maxHeld && l.paused > 0 && !l.closed {
		l.resumed.Wait()
	}
	if l.printed.Len() > 0 || time.Since(l.drawn) >= minFrame {
		l.show(l.printed.String())
	}
	return l.failure()
}

func (l *Live) failure() error {
	if l.err != nil {
		return fmt.Errorf("print progress: %w", l.err)
	}
	return nil
}

// resize takes the width that the terminal has now.
func (l *Live) resize() {
	if columns, _ := l.opts.Size(); columns > 0 {
		l.printer.opts.Width = columns
	}
}

// show writes lines that stay, and draws the region below them. While it is paused, the lines are kept.
func (l *Live) show(text string) {
	if l.paused > 0 && !l.closed {
		l.held.WriteString(text)
		text = ""
	} else if l.held.Len() > 0 {
		text = l.held.String() + text
		l.held.Reset()
	}
	var frame []string
	if columns, rows := l.opts.Size(); l.paused == 0 && !l.closed && !l.unended && columns > 0 && rows > 0 {
		frame = l.frame(columns, rows)
	}
	l.drawn = time.Now()
	if err := l.region.draw(text, frame); err != nil && l.err == nil {
		l.err = err
	}
}

// Pause erases the region, and keeps rows back, until Resume is called as often. It is for questions
// on the same terminal.
func (l *Live) Pause() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused++
	l.show("")
}

// Resume prints what was kept back, and draws the region again. What was written to the terminal in
// the meantime ends with its line.
func (l *Live) Resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused--
	l.unended = false
	l.show("")
	l.resumed.Broadcast()
}

// OmitQuestions leaves out rows of questions: a prompt on the same terminal shows them.
func (l *Live) OmitQuestions() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.printer.prompted = true
}

// Close erases the region for good. Rows can still be printed.
func (l *Live) Close() {
	l.mu.Lock()
	if !l.closed {
		close(l.stop)
	}
	l.closed = true
	l.show("")
	l.resumed.Broadcast()
	l.mu.Unlock()
	<-l.stopped
}

// Writer returns a writer to w, which is the same terminal. What is written appears above the region.
func (l *Live) Writer(w io.Writer) io.Writer { return &besideWriter{l, w} }

type besideWriter struct {
	live *Live
	w    io.Writer
}

func (b *besideWriter) Write(data []byte) (int, error) {
	l := b.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(data) == 0 {
		return b.w.Write(data)
	}
	l.unended = true // so that the region is erased
	l.show("")
	n, err := b.w.Write(data)
	l.unended = data[len(data)-1] != '\n'
	if !l.stopping() { // else it can be the last line before the process ends
		l.show("")
	}
	return n, err
}

// stopping reports whether the job was told to stop.
func (l *Live) stopping() bool {
	select {
	case <-l.opts.Done:
		return true
	default:
		return false
	}
}

// row takes in a row: it is printed, or it runs.
func (l *Live) row(r narrate.Row) error {
	running := r.State == narrate.Running
	switch r.Kind {
	case narrate.Image:
		if l.image = nil; running {
			l.image = &r
		}
	case narrate.Tool:
		l.runAt(r.Run).track(r, running, func(o narrate.Row) bool { return o.ID == r.ID })
	case narrate.Skill:
		l.runAt(r.Run).track(r, running, func(o narrate.Row) bool { return o.Kind == narrate.Skill && o.Summary == r.Summary })
	}
	return l.printer.Print([]narrate.Row{r})
}

// track keeps the rows of what is running.
func (v *liveRun) track(r narrate.Row, running bool, same func(narrate.Row) bool) {
	i := slices.IndexFunc(v.running, same)
	switch {
	case running && i < 0:
		if r.Began == 0 {
			r.Began = r.At
		}
		v.running = append(v.running, r)
	case running:
		r.Began = v.running[i].Began
		v.running[i] = r
	case i >= 0:
		v.running = slices.Delete(v.running, i, i+1)
	}
}

func (l *Live) runAt(id string) *liveRun {
	i := slices.IndexFunc(l.runs, func(r *liveRun) bool { return r.status.ID == id })
	if i < 0 {
		i = len(l.runs)
		l.runs = append(l.runs, &liveRun{status: narrate.Run{ID: id}})
	}
	return l.runs[i]
}

// arrived returns the lines of a text that was streamed before.
func (l *Live) arrived(r narrate.Row, text string, width int) ([]markdown.Line, bool) {
	run := l.runAt(r.Run)
	s := run.written
	if run.written = nil; s == nil || s.kind != narrate.Message {
		return nil, false
	}
	return s.finish(text, width)
}

// text takes in what a model writes.
func (l *Live) text(s narrate.Stream) {
	run := l.runAt(s.Run)
	if s.Ended {
		run.written, run.stream = run.stream, nil
		return
	}
	if run.stream == nil || run.stream.kind != s.Kind {
		run.stream = newStream(s.Kind, l.printer.opts.Redact)
	}
	run.stream.add(s.Delta)
}
