package wizard

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A driver drives a wizard without a terminal.
type driver struct {
	t     *testing.T
	m     *machine
	now   time.Time
	msgs  chan tea.Msg
	ended chan error
	left  chan struct{}
}

func drive(t *testing.T, steps func(ctx context.Context, w *Wizard) error) *driver {
	t.Helper()
	d := &driver{t: t, now: time.Unix(0, 0), msgs: make(chan tea.Msg), ended: make(chan error, 1), left: make(chan struct{})}
	d.m = &machine{clock: func() time.Time { return d.now }, leave: func() { close(d.left) }}
	d.m.Update(tea.WindowSizeMsg{Width: 60, Height: 8})
	send := func(msg tea.Msg) {
		select {
		case d.msgs <- msg:
		case <-t.Context().Done():
		}
	}
	go func() {
		err := steps(t.Context(), &Wizard{send: send, left: d.left})
		send(endMsg{})
		d.ended <- err
	}()
	return d
}

// shows waits for a screen with a text.
func (d *driver) shows(texts ...string) {
	d.t.Helper()
	d.take()
	for _, text := range texts {
		if !strings.Contains(d.m.View().Content, text) {
			d.t.Errorf("there is no %q in\n%s", text, d.m.View().Content)
		}
	}
}

// take waits for the next screen.
func (d *driver) take() {
	d.t.Helper()
	select {
	case msg := <-d.msgs:
		d.m.Update(msg)
	case <-time.After(time.Minute):
		d.t.Fatal("no screen comes")
	}
}

// sees looks at the screen that is there.
func (d *driver) sees(texts ...string) {
	d.t.Helper()
	for _, text := range texts {
		if !strings.Contains(d.m.View().Content, text) {
			d.t.Errorf("there is no %q in\n%s", text, d.m.View().Content)
		}
	}
}

// press presses keys, a second after each other.
func (d *driver) press(keys ...tea.KeyPressMsg) {
	for _, k := range keys {
		d.now = d.now.Add(time.Second)
		d.m.Update(k)
	}
}

func (d *driver) want(err error) {
	d.t.Helper()
	d.take()
	if got := <-d.ended; !errors.Is(got, err) {
		d.t.Errorf("it ended with %v, want %v", got, err)
	}
	if d.m.View().Content != "" {
		d.t.Errorf("left on the screen:\n%s", d.m.View().Content)
	}
}

func code(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r} }

func letter(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Text: string(r)} }

var (
	up, down, enter, esc = code(tea.KeyUp), code(tea.KeyDown), code(tea.KeyEnter), code(tea.KeyEscape)
	backspace            = code(tea.KeyBackspace)
)

func lines(texts ...string) (all []paint.Line) {
	for _, text := range texts {
		all = append(all, paint.Text(text, 0))
	}
	return all
}

func TestChoose(t *testing.T) {
	choice := Choice{Title: paint.Text("Which?", paint.Bold), About: lines("It matters."), Rows: lines("one", "two", "three"), Enter: "select"}
	for name, c := range map[string]struct {
		change func(*Choice)
		keys   []tea.KeyPressMsg
		want   int
		err    error
	}{
		"first":     {keys: []tea.KeyPressMsg{enter}},
		"third":     {keys: []tea.KeyPressMsg{down, down, enter}, want: 2},
		"wraps":     {keys: []tea.KeyPressMsg{up, enter}, want: 2},
		"and back":  {keys: []tea.KeyPressMsg{up, down, enter}, want: 0},
		"selected":  {change: func(c *Choice) { c.At = 1 }, keys: []tea.KeyPressMsg{enter}, want: 1},
		"esc":       {keys: []tea.KeyPressMsg{esc}, err: ErrLeft},
		"esc back":  {change: func(c *Choice) { c.Back = true }, keys: []tea.KeyPressMsg{esc}, err: ErrBack},
		"backspace": {change: func(c *Choice) { c.Back = true }, keys: []tea.KeyPressMsg{backspace}, err: ErrBack},
		"twice":     {keys: []tea.KeyPressMsg{enter, down, enter}}, // the answer stays what it was
	} {
		t.Run(name, func(t *testing.T) {
			one := choice
			if c.change != nil {
				c.change(&one)
			}
			var got int
			d := drive(t, func(ctx context.Context, w *Wizard) (err error) {
				got, err = w.Choose(ctx, one)
				return err
			})
			d.shows("Which?", "It matters.", "> ", "one", "three", "up/down navigate - enter select", "q quit")
			d.press(c.keys...)
			d.want(c.err)
			if c.err == nil && got != c.want {
				t.Errorf("row %d, want %d", got, c.want)
			}
		})
	}
}

// The letter q leaves, and so does Ctrl-C. What waits for an answer ends.
func TestLeave(t *testing.T) {
	for _, k := range []tea.KeyPressMsg{letter('q'), {Code: 'c', Mod: tea.ModCtrl}, {Code: 'q', Mod: tea.ModCtrl}} {
		d := drive(t, func(ctx context.Context, w *Wizard) error {
			_, err := w.Choose(ctx, Choice{Rows: lines("one")})
			return err
		})
		d.shows("one")
		d.press(k)
		d.want(ErrLeft)
	}
}

// A key that cannot be undone counts only after a pause.
func TestCareful(t *testing.T) {
	d := drive(t, func(ctx context.Context, w *Wizard) error {
		_, err := w.Choose(ctx, Choice{Rows: lines("one"), Careful: true})
		return err
	})
	d.shows("one")
	d.m.Update(enter)
	d.sees("that was too soon after another key: press Enter again")
	d.now = d.now.Add(pauseBefore - 1)
	d.m.Update(enter)
	d.sees("too soon")
	d.now = d.now.Add(pauseBefore)
	d.m.Update(enter)
	d.want(nil)
}

func TestEdit(t *testing.T) {
	check := func(text string) (string, string) {
		if strings.Contains(text, "bad") {
			return strings.ReplaceAll(text, "bad", ""), "that was bad"
		}
		return text, ""
	}
	var got string
	d := drive(t, func(ctx context.Context, w *Wizard) (err error) {
		got, err = w.Edit(ctx, Input{Title: paint.Text("Enter:", 0), Text: "a, b", Check: check})
		return err
	})
	d.shows("Enter:", "> a, b", "enter confirm - esc back - ctrl+q quit")
	d.press(backspace, letter('q'), letter('b'), letter('a'), letter('d'), enter)
	d.sees("> a, q", "that was bad")
	d.m.Update(tea.PasteMsg{Content: "x\n\x1b[31my"})
	d.press(enter)
	d.want(nil)
	if got != "a, qx y" {
		t.Errorf("%q", got)
	}
	d = drive(t, func(ctx context.Context, w *Wizard) error {
		_, err := w.Edit(ctx, Input{Check: check})
		return err
	})
	d.shows("> ")
	d.press(esc)
	d.want(ErrBack)
}

func TestBusyAndFail(t *testing.T) {
	d := drive(t, func(ctx context.Context, w *Wizard) error {
		w.Busy("Loading...")
		return w.Fail(ctx, "it is gone, and this is a long text that does not fit into one line of the terminal")
	})
	d.shows("Loading...")
	d.press(enter) // means nothing
	d.shows("Error: it is gone", "the terminal", "Press any key to go back")
	d.press(letter('q'))
	d.want(nil)
}

// Every size of a terminal is drawn.
func TestSizes(t *testing.T) {
	d := drive(t, func(ctx context.Context, w *Wizard) error {
		_, err := w.Choose(ctx, Choice{Title: paint.Text("Which?", 0), Rows: lines(strings.Fields(strings.Repeat("row ", 50))...)})
		return err
	})
	d.shows("Which?")
	for width := 1; width < 12; width++ {
		for height := 1; height < 6; height++ {
			d.m.Update(tea.WindowSizeMsg{Width: width, Height: height})
			if n := strings.Count(d.m.View().Content, "\n") + 1; n > height {
				t.Errorf("%dx%d: %d lines", width, height, n)
			}
		}
	}
	d.press(enter)
	d.want(nil)
}
