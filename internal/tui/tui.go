// Package tui is the full-screen program, perstack start: Experts, conversations, questions, the
// history of a project and its branches on one screen.
//
// Everything that it shows of a job is what internal/narrate folds from its events, as perstack run
// and perstack log do. It starts no engine and opens no file: a [Project] does. Update does no input
// or output; whatever can take time is a command. Start reading at [Run], then program.Update.
package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/tui/paint"
)

// Options say what the program works with and where it begins.
type Options struct {
	Project Project
	Name    string // of the project, for the header
	// Workspace is the directory that jobs work in. Directories in it are shown from there.
	Workspace string
	In        io.Reader
	Out       io.Writer
	Environ   []string // of the terminal
	Palette   paint.Palette
	Clock     func() time.Time // time.Now if it is nil
	// Redact takes secrets out of text; nil leaves it.
	Redact func(string) string

	Entry  Entry
	Expert string // for EntryChat
	Query  string // sent at once; can be empty
	Job    string // the job that is continued; empty for a new one
}

// An Entry is the screen that the program begins with.
type Entry int

// The screens that the program can begin with.
const (
	EntryExperts Entry = iota
	EntryHistory
	EntryChat
)

// A Result is what the program leaves behind.
type Result struct {
	Job string // that was open when the user left; empty if there was none
}

const (
	framesPerSecond = 120 // the library waits for a frame before it draws anything
	// farewell is how long a job can take to save its state after the user left.
	farewell = 5 * time.Second
)

// Run shows the program until the user leaves it or ctx is done. A job that runs then is stopped and
// saved.
func Run(ctx context.Context, o Options) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := newProgram(ctx, o)
	_, err := tea.NewProgram(p, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out), tea.WithEnvironment(o.Environ),
		tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler()).Run()
	cancel()
	p.await(farewell)
	result := Result{Job: p.openJobID()}
	if err != nil && !errors.Is(err, context.Canceled) {
		return result, fmt.Errorf("show the screen: %w", err)
	}
	return result, nil
}
