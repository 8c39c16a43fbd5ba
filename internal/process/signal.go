package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// A Signal is the cause of a context that a signal cancelled.
type Signal struct{ os.Signal }

func (s Signal) Error() string { return "received " + s.Signal.String() }

// The exit codes after a signal.
const (
	ExitHangup    = 129 // SIGHUP
	ExitInterrupt = 130 // SIGINT
	ExitTerminate = 143 // SIGTERM
)

// ExitCode returns the code that a program ends with after the signal.
func (s Signal) ExitCode() int {
	switch s.Signal {
	case syscall.SIGTERM:
		return ExitTerminate
	case syscall.SIGHUP:
		return ExitHangup
	}
	return ExitInterrupt
}

// How soon after a signal another one is taken for the same. Terminals that close, and
// programs that end others, often send a signal twice; an interrupt comes from a person.
const (
	echo          = 500 * time.Millisecond
	interruptEcho = 100 * time.Millisecond
)

// quitWithin is how long the process lives after the second signal, whatever it waits for.
const quitWithin = 500 * time.Millisecond

// Interruptible returns a context that the first signal cancels, with a [Signal] as its
// cause, so that a run can save. A second one ends the program immediately, whatever it waits
// for: the journal is valid at any time. A message on stderr says so; saves tells whether there
// is something to save at that moment.
func Interruptible(ctx context.Context, stderr io.Writer, saves func() bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)

	// Writing to a closed output is then an error, and the run ends saved. Without a handler
	// the signal would kill the process. It is not ignored, since commands that tools start
	// would inherit that.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, brokenPipe...)

	go func() {
		var first time.Time
		for s := range signals {
			if first.IsZero() {
				first = time.Now()
				say(stderr, stopping(saves()))
				cancel(Signal{s})
				continue
			}
			if since := time.Since(first); since < interruptEcho || since < echo && s != os.Interrupt {
				continue
			}
			say(stderr, quitting(saves()))
			// Commands are killed because this process ends, and not before: otherwise the
			// run would begin to record their end.
			os.Exit(Signal{s}.ExitCode())
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(pipe)
		close(signals)
		cancel(nil)
	}
}

// say prints a line. If standard error leads to a program that has stopped reading, the line is
// given up, and the next signal is still seen.
func say(stderr io.Writer, line string) {
	said := make(chan struct{})
	go func() {
		defer close(said)
		fmt.Fprintln(stderr, "perstack: "+line)
	}()
	select {
	case <-said:
	case <-time.After(quitWithin):
	}
}

// WithoutDumps catches the signals that end a Go program with a dump of its goroutines,
// until stop is called. It is for a process that other processes of the user must not be
// able to end. The signals are not ignored, since commands would inherit that.
func WithoutDumps() (stop func()) {
	if len(dumping) == 0 {
		return func() {} // no names would mean all signals
	}
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, dumping...)
	return func() { signal.Stop(ignored) }
}

// stopping is the message after the first signal.
func stopping(saves bool) string {
	if saves {
		return "stopping and saving; interrupt again to quit at once"
	}
	return "stopping; interrupt again to quit at once"
}

// quitting is the message after the second signal.
func quitting(saves bool) string {
	if saves {
		return "quit at once; commands that were running are killed, and their outcome is not recorded"
	}
	return "quit at once; commands that were running are killed"
}
