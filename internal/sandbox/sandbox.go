// Package sandbox starts programs and ends them. It is the only room of the house that
// imports os/exec.
//
// A program is started with an argument vector, never by a shell; with an environment
// that is rebuilt from a short list of safe variables, never inherited; without input;
// without the terminal of the user or a file that we inherited; and in a process group
// of its own, which is killed as a whole when the program ends, runs out of time or is
// no longer wanted, also when this process ends in a hurry ([Tracker]). Its output is bounded by leaving out the
// middle, never by killing it.
//
// The package does not keep a program from reading or writing what the operating
// system lets the user read and write: the walls that do are the container and the
// policies of later parts. So it can write to a terminal that it finds under /dev, and a
// process that makes a session of its own is not killed with the group. The package does
// not decide whether a program may run.
//
// Start reading at [Run]; [Environment] says what a program gets to see of ours, and
// [Shield] is what a main function calls first. All
// processes come into being in start (process.go).
package sandbox

import (
	"context"
	"errors"
	"strings"
	"time"
)

// A Command is a program to be run to its end.
type Command struct {
	Program string   // looked up in PATH of Environ, or relative to Dir if it has a separator
	Args    []string // without the program's name
	Dir     string   // working directory; it must exist

	Environ []string          // of the runtime; the safe variables are taken from it
	Env     map[string]string // added, apart from protected names

	Timeout   time.Duration // 0 means none
	Grace     time.Duration // between the request to end and the kill; 0 means 2 seconds
	MaxOutput int           // bytes kept of each stream; 0 means DefaultMaxOutput

	// Watch is given the output as it comes, both streams, one call at a time. It
	// must not keep the slice. It is not called after Run returned.
	Watch func(chunk []byte)
	// Tracker is told of the process while it runs, so that it can be killed when ours
	// ends in a hurry. It may be nil.
	Tracker *Tracker
	// Now is the clock for Outcome.DurationMs; nil means time.Now. It does not drive
	// the timeout.
	Now func() time.Time
}

// DefaultMaxOutput is what is kept of a stream: plenty for a model to read, and
// little enough to send.
const DefaultMaxOutput = 256 << 10

const (
	defaultGrace = 2 * time.Second
	// drain is how long output is awaited after the group was killed. Only a process
	// that left the group can still hold the pipe then.
	drain = time.Second
)

// An Outcome says how a program ended. It is truthful: TimedOut comes from our own
// timer, Signal and ExitCode from the kernel.
type Outcome struct {
	ExitCode   int    // -1 if a signal ended it
	Signal     string // "SIGKILL"; empty if it ended by itself
	TimedOut   bool
	Cancelled  bool // the context was done first
	DurationMs int64
	Stdout     Output
	Stderr     Output
	DroppedEnv []string // names of Env that were not passed on, sorted
}

// Errors of Run, to be told apart with errors.Is. When one is returned, nothing ran.
var (
	ErrNotFound   = errors.New("program not found")
	ErrPermission = errors.New("program is not executable")
	ErrInvalid    = errors.New("invalid command")
)

// Run runs a command and waits until it and all of its group are gone. The error is
// about starting it; a command that failed is an Outcome.
func Run(ctx context.Context, c Command) (Outcome, error) {
	if err := c.validate(); err != nil {
		return Outcome{}, err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	env, dropped := Environment(c.Environ, c.Env)
	out := Outcome{ExitCode: -1, DroppedEnv: dropped}
	if ctx.Err() != nil || c.Tracker.isOver() {
		out.Cancelled = true
		return out, nil
	}
	path, err := lookPath(c.Program, env)
	if err != nil {
		return out, err
	}
	begin := c.Now()
	p, err := start(path, c, env)
	if err != nil {
		return out, err
	}
	out.TimedOut, out.Cancelled = p.supervise(ctx, c.Timeout, c.Grace)
	c.Tracker.remove(&p.group) // before its number is given back to the system
	out.ExitCode, out.Signal = p.result()
	out.Stdout, out.Stderr = p.output()
	out.DurationMs = max(0, c.Now().Sub(begin).Milliseconds())
	return out, nil
}

// validate refuses what an operating system would cut short: the rest of an argument
// after a NUL would silently be lost.
func (c *Command) validate() error {
	if c.Program == "" {
		return errors.Join(ErrInvalid, errors.New("the command is empty"))
	}
	for _, s := range append([]string{c.Program, c.Dir}, c.Args...) {
		if strings.ContainsRune(s, 0) {
			return errors.Join(ErrInvalid, errors.New("command and arguments must not contain NUL characters"))
		}
	}
	return nil
}
