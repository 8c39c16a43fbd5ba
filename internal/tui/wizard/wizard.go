// Package wizard asks a user a few things one after the other, below the command that was typed: to
// choose from a list, to edit a line, to confirm.
//
// A wizard is written as a function that asks and gets answers: see [Run]. It runs beside the screen, so
// it can take its time, and what it waits for is shown by [Wizard.Busy]. When it has ended, nothing of it
// stays on the terminal. The package knows no Experts and no registry.
package wizard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/tui/paint"
)

// How a question can end without an answer.
var (
	ErrBack = errors.New("the user went back")
	ErrLeft = errors.New("the user left")
)

// Options are what the screens work with.
type Options struct {
	In      io.Reader
	Out     io.Writer
	Environ []string // of the terminal
	Palette paint.Palette
	Clock   func() time.Time
}

// A Wizard shows screens. Its methods return [ErrLeft] if the user leaves, and [ErrBack] if the user goes
// back.
type Wizard struct {
	send func(tea.Msg)
	left <-chan struct{} // closed when the user leaves
}

// framesPerSecond is high because the library waits for a frame before it draws anything.
const framesPerSecond = 120

// Run shows the screens that steps asks for, until it returns. The error is that of steps.
func Run(ctx context.Context, o Options, steps func(ctx context.Context, w *Wizard) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	left := make(chan struct{})
	m := &machine{palette: o.Palette, clock: o.Clock, leave: func() { close(left) }}
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithEnvironment(o.Environ),
		tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler())
	ended := make(chan error, 1)
	go func() {
		err := steps(ctx, &Wizard{send: program.Send, left: left})
		program.Send(endMsg{})
		ended <- err
	}()
	_, shown := program.Run()
	cancel() // what the user does not wait for any more
	err := <-ended
	select {
	case <-left:
		return ErrLeft
	default:
	}
	if err == nil && shown != nil {
		err = fmt.Errorf("show the screen: %w", shown)
	}
	return err
}

// An answer is what the user chose or entered.
type answer struct {
	row  int
	text string
	err  error
}

// A reply takes one answer. What comes later is dropped.
type reply chan answer

func newReply() reply { return make(reply, 1) }

func (r reply) give(a answer) {
	select {
	case r <- a:
	default:
	}
}

// ask shows a screen and waits until it has its answer.
func (w *Wizard) ask(ctx context.Context, s screen, r reply) answer {
	w.send(showMsg{s})
	select {
	case a := <-r:
		return a
	case <-w.left:
		return answer{err: ErrLeft}
	case <-ctx.Done():
		return answer{err: context.Cause(ctx)}
	}
}

// Busy shows what the wizard waits for.
func (w *Wizard) Busy(text string) { w.send(showMsg{busy(text)}) }

// A screen is what is shown.
type screen interface {
	// press takes in a key, by the name that the library gives it and with the text that it types. pause is
	// how long ago the key before it was pressed, or the screen appeared.
	press(name, text string, pause time.Duration)
	render(width, height int, palette paint.Palette) view
}

// A view is a drawn screen.
type view struct {
	lines  []paint.Line
	cursor bool
	x, y   int
}

type busy string

func (busy) press(string, string, time.Duration) {}

func (b busy) render(width, _ int, _ paint.Palette) view {
	return view{lines: []paint.Line{paint.Cut(paint.Text(string(b), 0), width)}}
}
