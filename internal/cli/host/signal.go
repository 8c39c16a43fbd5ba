package host

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// A Signal is the cause of a context that a signal cancelled.
type Signal struct{ os.Signal }

func (s Signal) Error() string { return "received " + s.Signal.String() }

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

// echo is how soon after a signal another one is taken for the same.
const echo = 100 * time.Millisecond

// Interruptible returns a context that the first signal cancels, with a [Signal] as
// its cause, so that a run can save. Who then interrupts again ends the program at once:
// the journal is valid at any instant. What that means is said on standard error.
func (h *Host) Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)

	// A closed output is an error of the write, which ends the run saved. Without
	// a handler it would kill the process; ignoring the signal would be passed on
	// to the commands that tools start.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, brokenPipe...)

	go func() {
		var first time.Time
		for s := range signals {
			if !first.IsZero() {
				// Terminals that close, and programs that end others, often send a signal
				// twice. Only somebody who is impatient means it.
				if s != os.Interrupt || time.Since(first) < echo {
					continue
				}
				fmt.Fprintln(h.Stderr, "perstack: "+h.quitting())
				// What runs is killed because this process ends, and not before: a run that
				// saw its commands die would begin to record that.
				os.Exit(Signal{s}.ExitCode())
			}
			first = time.Now()
			fmt.Fprintln(h.Stderr, "perstack: "+h.stopping())
			cancel(Signal{s})
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(pipe)
		close(signals)
		cancel(nil)
	}
}

// WithoutDumps keeps signals whose only use is to end a program with a dump of what it does
// from doing that, until the function that it returns is called. It is for a process that
// others of its user must not be able to end. They are caught and not ignored: ignoring
// would be passed on to commands.
func WithoutDumps() (stop func()) {
	if len(dumping) == 0 {
		return func() {} // no names would mean all signals
	}
	nobody := make(chan os.Signal, 1)
	signal.Notify(nobody, dumping...)
	return func() { signal.Stop(nobody) }
}

// Saves says that the command saves its work when it is stopped.
func (h *Host) Saves() { h.saves.Store(true) }

// stopping is what is said after the first signal.
func (h *Host) stopping() string {
	if h.saves.Load() {
		return "stopping and saving; interrupt again to quit at once"
	}
	return "stopping; interrupt again to quit at once"
}

// quitting is what is said after the second one.
func (h *Host) quitting() string {
	if h.saves.Load() {
		return "quit at once; commands that were running are killed, and their outcome is not recorded"
	}
	return "quit at once; commands that were running are killed"
}
