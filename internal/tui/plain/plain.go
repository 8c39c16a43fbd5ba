// Package plain is perstack start where nothing can be drawn, or where the user has the screen read
// aloud. It reads lines and adds lines: nothing that was written is changed afterwards.
//
// It has the same [tui.Project], the same narrator and the same answers as the full screen, and every
// action of the full screen is a command here. What is not a command is a message to the Expert. A
// list is a numbered menu. The package opens no file and starts no engine. Start reading at [Run],
// then session.go.
package plain

// The rules of the output:
//
//  1. Each thing begins with a label on a line of its own: You, the name of an Expert, Tool,
//     Question, Approval, Error. What belongs to it follows, indented by 2.
//  2. Everything that came from a model, a tool, a file or the history is cleaned before it is
//     written, by internal/cli/lines or by [session.say].
//  3. While a job works and has nothing to tell, a line says so every 30 seconds.
//  4. A question rings the bell, if there is a terminal.
//  5. A line approves only if it is a whole word that was entered after the question could be read,
//     and came alone. Without a terminal nothing is approved.

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/perstack-go/perstack/internal/tui"
)

// Options are what the program works with.
type Options struct {
	Project tui.Project
	Name    string // of the project
	Why     string // why it is not the full screen, as in "TERM is dumb"

	In  io.Reader
	Out io.Writer
	// Terminal says that a person types at In. Otherwise lines are read one after the other, each
	// when the one before is done, and nothing is approved.
	Terminal bool
	Width    int // of the terminal; 0 if it is not known
	// Interrupts has a value each time the user presses Ctrl-C. It can be nil: then the end of the
	// context stops the job, and the program.
	Interrupts <-chan struct{}
	// Flush drops what was typed and not entered yet. It is called before an approval is shown. If it
	// is nil, the terminal that In is does so.
	Flush func()
	// Redact takes secrets out of text; nil leaves it.
	Redact func(string) string
	// Clock is nil for that of the system.
	Clock func() time.Time

	Expert string // to talk to; empty to choose
	Query  string // is sent at once
	Job    string // to open
}

// Run works until the user quits, the input ends or ctx is done.
func Run(ctx context.Context, opts Options) error {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.Redact == nil {
		opts.Redact = func(text string) string { return text }
	}
	if file, ok := opts.In.(*os.File); ok && opts.Flush == nil {
		opts.Flush = func() { flush(file) }
	}
	s := newSession(ctx, opts)
	defer s.close()
	err := s.loop()
	if errors.Is(err, errQuit) {
		err = nil
	}
	s.farewell()
	if s.out.err != nil {
		err = s.out.err
	}
	return err
}

// errQuit ends the session.
var errQuit = errors.New("quit")
