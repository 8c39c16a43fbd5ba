// Package sandbox starts programs and ends them. It is the only package that imports
// os/exec or starts a process in another way.
//
// A program is started with an argument vector, never by a shell. Its environment is built
// from a short list of safe variables, never inherited. It has no input, unless it is a
// server; it has neither the terminal of the user nor files that this process inherited;
// and it runs in a process group of its own. On Linux it has no capabilities, even if we
// are root, and cannot gain any (no_new_privs): sudo and other set-user-ID programs give a
// command no rights. Its output is bounded by leaving out the middle, never by killing it.
//
// Programs are not children of this process. A second process of the same binary, the
// supervisor, starts them: one for all commands, and one for each server. It holds one end
// of a socket as a lease. When this process ends for any reason, the supervisor kills all
// its descendants, on Linux including those in sessions of their own, and ends. So main
// calls [Init] first, which makes the program able to be its own supervisor, and code that
// runs commands owns a [Supervisor]. On Windows a job object for each program does the
// same without a second process.
//
// Every program has a policy. It can reach what the policy allows and nothing else: no other
// file, port or process (Linux). The supervisor then starts this binary a third time, which
// applies the policy to itself and executes the program, so the program is confined from its
// first instruction. At level landlock the kernel checks each access (confine_linux.go). At
// level full the supervisor itself runs in namespaces in which nothing else exists
// (holder_linux.go), and each program has a process table of its own (inside_linux.go). A
// policy can also limit the number of processes and threads.
//
// At level off, a program can read and write what the operating system lets the user read and
// write; only a container prevents that. Which programs these are is in [policy.Exemptions]. It can write to a terminal that it finds
// under /dev, and it can kill the supervisor: then this process kills the descendants that
// it finds, and starts another supervisor. If a command kills both, what it started
// survives. On macOS a process that makes a session of its own is not found. The package
// does not decide whether a program may run.
//
// Start reading at [Supervisor.Run] and [Supervisor.Start]. [Environment] says which
// variables a program gets, and a main function calls [Harden] after [Init]. The work of
// the supervisor process is in serve_unix.go.
package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/stopwatch"
)

// A Command is a program to be run to its end.
type Command struct {
	Program string   // looked up in PATH of Environ, or relative to Dir if it has a separator
	Args    []string // without the program's name
	Dir     string   // working directory; it must exist
	// OpenDir is that directory, open. If it is set, the program starts in the open
	// directory, even if the path leads elsewhere by now. Windows uses Dir alone.
	OpenDir *os.File

	Environ []string          // of the runtime; the safe variables are taken from it
	Env     map[string]string // added, except for protected names: from a model, an Expert or a skill
	Set     map[string]string // added as it is: decided by perstack

	// Policy is what the program and all it starts can reach. Without one, and if the kernel
	// cannot enforce it, the program does not start. Levels other than off work on Linux only.
	Policy *policy.Policy
	// Accept is given the listener of a new sandbox of level full, before its first program
	// starts. It serves the listener until that fails, which it does when the sandbox ends.
	Accept func(net.Listener)

	Timeout time.Duration // 0 means none
	// Clock drives the timeout; nil for one that is never paused.
	Clock     *stopwatch.Clock
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

// DefaultMaxOutput is how much of a stream is kept.
const DefaultMaxOutput = 256 << 10

const (
	defaultGrace = 2 * time.Second
	// drain is how long output is awaited after the group was killed. Only a process
	// that left the group can still hold the pipe then.
	drain = time.Second
)

// An Outcome says how a program ended. TimedOut comes from our own timer, Signal and
// ExitCode from the kernel.
type Outcome struct {
	ExitCode  int    // -1 if a signal ended it
	Signal    string // "SIGKILL"; empty if it ended by itself
	TimedOut  bool
	Cancelled bool // the context was done first
	// Exceeded is the limit of its policy that it was killed for: "more than 128 processes
	// and threads". Empty otherwise.
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
	// ErrOutside means that the program could be run, but not under its policy.
	ErrOutside = errors.New("program cannot be run in its sandbox: it, its interpreter (the program in its #! line) or its loader is not among the files that the sandbox can read")
	// ErrLost means that the outcome is unknown: the supervisor was killed while the
	// program ran. The processes that could be found were killed.
	ErrLost = errors.New("the supervisor of commands was killed, the outcome is unknown")
)

// validate refuses NUL characters, because the system would silently cut an argument at
// the first one, and policies that are missing, not valid or cannot be enforced.
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
	if c.Policy == nil {
		return errors.Join(ErrInvalid, fmt.Errorf("%q has no sandbox policy; without one, no program is started", c.Program))
	}
	if err := c.Policy.Validate(); err != nil {
		return errors.Join(ErrInvalid, err)
	}
	if c.Policy.Level == expert.SandboxLandlock {
		return landlock.Available()
	}
	return nil
}

// inNamespaces reports whether the program runs in namespaces of its own.
func (c *Command) inNamespaces() bool { return c.Policy.Level == expert.SandboxFull }

// lookUp finds the program. In namespaces of its own, only a process inside can do that.
func (c *Command) lookUp(env []string) (string, error) {
	if c.inNamespaces() {
		return c.Program, nil
	}
	return LookPath(c.Program, env)
}

// gitWithoutSystem makes git ignore /etc/gitconfig. That file can contain passwords and no
// policy allows it, and git fails if it exists and cannot be read.
const gitWithoutSystem = "GIT_CONFIG_NOSYSTEM"

// environment returns the variables of the program, and the names of Env that were dropped.
func (c *Command) environment() (env, dropped []string) {
	env, dropped = Environment(c.Environ, c.Env)
	for name, value := range c.Set {
		env = slices.DeleteFunc(env, func(kv string) bool {
			other, _, _ := strings.Cut(kv, "=")
			return sameVariable(other, name)
		})
		env = append(env, name+"="+value)
	}
	if c.Policy.Restricts() && Variable(env, gitWithoutSystem) == "" {
		env = append(env, gitWithoutSystem+"=1")
	}
	slices.Sort(env)
	return env, dropped
}
