package tui

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A fakeProject answers from its fields. What a test leaves out is empty.
type fakeProject struct {
	experts     []Expert
	jobs        []Job
	events      []event.Event // of every job
	checkpoints []Checkpoint
	diff        string
	doubt       string
	paths       []string
	inputs      []string
	attachments map[string]Attachment
	deleted     []string
	mu          sync.Mutex
	remembered  []string
	err         error // of everything that can fail
	hold        bool  // a job that is followed does not end
	run         func(ctx context.Context, t Task, a Asker, yield func(event.Event, error) bool)
}

func (f *fakeProject) Experts(context.Context) ([]Expert, error) { return f.experts, f.err }

func (f *fakeProject) Jobs(_ context.Context, most int) ([]Job, error) {
	if most > 0 {
		return f.jobs[:min(most, len(f.jobs))], f.err
	}
	return f.jobs, f.err
}

func (f *fakeProject) Events(ctx context.Context, _ string, follow bool) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for _, e := range f.events {
			if !yield(e, nil) {
				return
			}
		}
		if f.err != nil {
			yield(event.Event{}, f.err)
		}
		if follow && f.hold {
			<-ctx.Done()
		}
	}
}

func (f *fakeProject) Checkpoints(context.Context, string) ([]Checkpoint, error) {
	return f.checkpoints, f.err
}

func (f *fakeProject) Diff(context.Context, string, string) (string, error) { return f.diff, f.err }

func (f *fakeProject) Record(context.Context, string, string) (int64, []byte, error) {
	return 7, []byte(`{"seq":7}`), f.err
}

func (f *fakeProject) Delete(_ context.Context, id string) error {
	f.deleted = append(f.deleted, id)
	return f.err
}

func (f *fakeProject) Paths(context.Context) ([]string, bool, error) { return f.paths, false, f.err }

func (f *fakeProject) Attach(_ context.Context, path string) (Attachment, error) {
	a, ok := f.attachments[path]
	if !ok {
		return a, fmt.Errorf("open %s: no such file", path)
	}
	return a, nil
}

func (f *fakeProject) Inputs(context.Context) ([]string, error) { return f.inputs, f.err }

func (f *fakeProject) Remember(_ context.Context, input string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remembered = append(f.remembered, input)
	return nil
}

func (f *fakeProject) Run(ctx context.Context, t Task, a Asker) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		if f.run == nil {
			yield(event.Event{}, errors.New("the test runs no job"))
			return
		}
		f.run(ctx, t, a, yield)
	}
}

func (f *fakeProject) Doubt(context.Context, string) string { return f.doubt }

func (f *fakeProject) Resume(jobID string) string { return "perstack start --continue-job " + jobID }

// A driver drives the program with messages, without a terminal. Commands run as they do in the
// library, in goroutines of their own. Timers wait until the test lets their time pass.
type driver struct {
	t       *testing.T
	p       *program
	project *fakeProject
	now     time.Time
	msgs    chan tea.Msg
	timers  []timer
	events  int // that the program took in
}

type timer struct {
	at  time.Time
	msg tea.Msg
}

// begun is when the clock of tests begins.
var begun = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

// drive starts a program of a size, and waits until it has what it asks its project for.
func drive(t *testing.T, project *fakeProject, width, height int, change ...func(*Options)) *driver {
	t.Helper()
	d := &driver{t: t, project: project, now: begun, msgs: make(chan tea.Msg)}
	o := Options{Project: project, Name: "trip", Palette: paint.Palette{Color: true, Unicode: true}, Clock: func() time.Time { return d.now }}
	for _, c := range change {
		c(&o)
	}
	d.p = newProgram(t.Context(), o)
	d.p.after = func(wait time.Duration, msg tea.Msg) tea.Cmd {
		d.timers = append(d.timers, timer{d.now.Add(wait), msg})
		return nil
	}
	d.start(d.p.Init())
	d.send(tea.WindowSizeMsg{Width: width, Height: height})
	d.settle()
	return d
}

// start runs a command.
func (d *driver) start(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		msg := cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for _, c := range batch {
				d.start(c)
			}
			return
		}
		select {
		case d.msgs <- msg:
		case <-d.t.Context().Done():
		}
	}()
}

// send gives a message to the program. Like the library, it draws the screen afterwards.
func (d *driver) send(msg tea.Msg) {
	if msg == nil {
		return
	}
	if b, ok := msg.(batch); ok {
		for _, i := range b.items {
			if i.event.Body != nil {
				d.events++
			}
		}
	}
	_, cmd := d.p.Update(msg)
	d.start(cmd)
	d.p.View()
}

// until takes in messages of commands until a condition holds.
func (d *driver) until(what string, holds func() bool) {
	d.t.Helper()
	late := time.After(time.Minute)
	for !holds() {
		select {
		case msg := <-d.msgs:
			d.send(msg)
		case <-time.After(time.Millisecond): // what does not come as a message
		case <-late:
			d.t.Fatalf("%s: that did not happen; the screen is\n%s", what, d.screen())
		}
	}
}

// settle waits until the program has what it asked its project for.
func (d *driver) settle() {
	d.t.Helper()
	d.until("the project answers", func() bool { return d.p.busy == 0 })
}

// shows waits for a text on the screen.
func (d *driver) shows(text string) {
	d.t.Helper()
	d.until(fmt.Sprintf("%q is on the screen", text), func() bool { return strings.Contains(d.screen(), text) })
}

// pass lets time pass, and delivers the timers that are due.
func (d *driver) pass(time time.Duration) {
	end := d.now.Add(time)
	for {
		next := -1
		for i, t := range d.timers {
			if !t.at.After(end) && (next < 0 || t.at.Before(d.timers[next].at)) {
				next = i
			}
		}
		if next < 0 {
			d.now = end
			return
		}
		t := d.timers[next]
		d.timers = append(d.timers[:next:next], d.timers[next+1:]...)
		d.now = t.at
		d.send(t.msg)
	}
}

// press presses keys, by the names that the library gives them.
func (d *driver) press(names ...string) {
	for _, name := range names {
		d.send(keyPress(name))
	}
}

// enter types a text, letter by letter.
func (d *driver) enter(text string) {
	for _, r := range text {
		d.send(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

// keyPress is the message of a key.
func keyPress(name string) tea.KeyPressMsg {
	var k tea.KeyPressMsg
	parts := strings.Split(name, "+")
	for _, mod := range parts[:len(parts)-1] {
		k.Mod |= map[string]tea.KeyMod{"ctrl": tea.ModCtrl, "alt": tea.ModAlt, "shift": tea.ModShift}[mod]
	}
	last := parts[len(parts)-1]
	if code, ok := keyCodes()[last]; ok {
		k.Code = code
		return k
	}
	k.Code = []rune(last)[0]
	if k.Mod == 0 {
		k.Text = last
	}
	return k
}

func keyCodes() map[string]rune {
	return map[string]rune{
		"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "backspace": tea.KeyBackspace, "f1": tea.KeyF1,
		"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "delete": tea.KeyDelete,
		"home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown,
	}
}

// screen is what is drawn, without styles.
func (d *driver) screen() string {
	var out []string
	for line := range strings.SplitSeq(d.p.View().Content, "\n") {
		out = append(out, strings.TrimRight(plain(line), " "))
	}
	return strings.Join(out, "\n")
}

// plain takes the sequences for styles out of a line.
func plain(line string) string {
	var out strings.Builder
	for {
		before, after, ok := strings.Cut(line, "\x1b[")
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		_, line, _ = strings.Cut(after, "m")
	}
}
