// Package sandbox starts programs and ends them. It is the only room of the house that
// imports os/exec or starts a process in another way.
//
// A program is started with an argument vector, never by a shell; with an environment
// that is rebuilt from a short list of safe variables, never inherited; without input,
// unless it is a server that we speak to; without the terminal of the user or a file that
// we inherited; in a process group of its own; and on Linux without capabilities, also when we are root, and without a way
// to get any (no_new_privs): sudo and other set-user-ID programs give a command no
// rights. Its output is bounded by leaving out the middle, never by killing it.
//
// Programs are not children of this process. A second process of the same binary, the
// supervisor, starts them (one for all commands, one for each server), and holds one end of
// a socket as a lease: when this process ends, in whatever way, the supervisor kills all that is below it, grandchildren in
// sessions of their own too (Linux), and ends. So main calls [Init] first, by which the
// program can be its own supervisor, and whoever runs commands owns a [Supervisor]. On
// Windows a job object for each program does the same without a second process.
//
// A program with a cell (Linux) can reach what the cell says and nothing else: no other
// file, port or process; package cell says how. The supervisor then starts this binary a
// third time, which locks itself in and becomes the program, so what runs there was never
// outside (cell_linux.go). A cell can also say how many processes and threads there may be.
//
// Without a cell the package does not keep a program from reading or writing what the
// operating system lets the user read and write: the wall that does is the container. So it
// can write to a terminal that it finds under /dev, and it can kill the supervisor: then
// this process kills what it finds below itself, and starts another. A command that kills
// both gets away with what it started. On macOS a process that makes a session of its own
// is not found. The package does not decide whether a program may run.
//
// Start reading at [Supervisor.Run] and [Supervisor.Start]; [Environment] says what a
// program gets to see of ours, and [Shield] is what a main function calls after [Init]. The
// supervisor's own work is in serve_unix.go.
package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/sandbox/cell"
)

// A Command is a program to be run to its end.
type Command struct {
	Program string   // looked up in PATH of Environ, or relative to Dir if it has a separator
	Args    []string // without the program's name
	Dir     string   // working directory; it must exist
	// OpenDir is that directory, open. Where it is given, the program starts in what
	// was opened, even if the path leads elsewhere by now. Windows goes by Dir alone.
	OpenDir *os.File

	Environ []string          // of the runtime; the safe variables are taken from it
	Env     map[string]string // added, apart from protected names: what somebody else asked for
	Set     map[string]string // added as it is: what this program itself decided

	// Cell is what the program and all it starts can reach; nil for what the user can. A
	// program whose cell the kernel cannot keep does not start. On Linux only.
	Cell *cell.Cell

	Timeout   time.Duration // 0 means none
	Grace     time.Duration // between the request to end and the kill; 0 means 2 seconds
	MaxOutput int           // bytes kept of each stream; 0 means DefaultMaxOutput

	// Watch is given the output as it comes, one call at a time, and which of the
	// streams it is. It must not keep the slice. It is not called after Run returned.
	Watch func(from Stream, chunk []byte)
	// Now is the clock for Outcome.DurationMs; nil means time.Now. It does not drive
	// the timeout.
	Now func() time.Time
}

// A Stream is one of the two that a program writes to.
type Stream int

// The streams.
const (
	Stdout Stream = iota
	Stderr
)

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
	ExitCode  int    // -1 if a signal ended it
	Signal    string // "SIGKILL"; empty if it ended by itself
	TimedOut  bool
	Cancelled bool // the context was done first
	// Exceeded is the limit of its cell that we ended it for: "more than 128 processes and
	// threads". Empty if that was not so.
	Exceeded   string
	DurationMs int64
	Stdout     Output
	Stderr     Output
	DroppedEnv []string // names of Env that were not passed on, sorted
}

// Errors of Run and Start, to be told apart with errors.Is. When one of the first five is
// returned, nothing ran.
var (
	ErrNotFound   = errors.New("program not found")
	ErrPermission = errors.New("program is not executable")
	ErrInvalid    = errors.New("invalid command")
	ErrFormat     = errors.New("not a program for this machine, and no script with a #! line")
	// ErrOutside means that the program could be run, but not in its cell.
	ErrOutside = errors.New("program cannot be run in its cell: it, its interpreter (the program in its #! line) or its loader is outside of the files that the cell can read")
	// ErrLost means that nobody knows how far the program came: the supervisor was
	// killed while it ran. What could be found of it was killed.
	ErrLost = errors.New("the supervisor of commands was killed, the outcome is unknown")
)

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
	for name, value := range c.Set {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return errors.Join(ErrInvalid, fmt.Errorf("%q cannot be set as an environment variable", name))
		}
	}
	if c.Cell != nil {
		if err := c.Cell.Validate(); err != nil {
			return errors.Join(ErrInvalid, err)
		}
		return cell.Available()
	}
	return nil
}

// gitWithoutSystem keeps git from /etc/gitconfig, which can have passwords in it and is in no
// cell. If that file is there and cannot be read, git gives up.
const gitWithoutSystem = "GIT_CONFIG_NOSYSTEM"

// environment is what the program gets, and the names that it asked for in vain.
func (c *Command) environment() (env, dropped []string) {
	env, dropped = Environment(c.Environ, c.Env)
	for name, value := range c.Set {
		env = slices.DeleteFunc(env, func(kv string) bool {
			other, _, _ := strings.Cut(kv, "=")
			return sameVariable(other, name)
		})
		env = append(env, name+"="+value)
	}
	if c.Cell != nil && variable(env, gitWithoutSystem) == "" {
		env = append(env, gitWithoutSystem+"=1")
	}
	slices.Sort(env)
	return env, dropped
}
