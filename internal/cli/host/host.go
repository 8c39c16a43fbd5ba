// Package host is what a command gets from the machine it runs on: streams, working
// directory, environment, clock. It also says how a command ends: with which exit
// code, and with which words.
//
// Commands read nothing of this from the process itself, so that a test can run them
// side by side in one process. Start reading at [Host], then [ExitError].
package host

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/term"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/secret"
)

// A Host is the environment of a command.
type Host struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	// Whether a stream is a terminal.
	StdinIsTerminal, StdoutIsTerminal, StderrIsTerminal bool
	Width                                               int // columns of the terminal; 0 when there is none
	// Size returns the columns and rows of the terminal now; 0 if lines on it cannot be drawn again,
	// because there is none, or another program uses it. Nil means always 0.
	Size func() (columns, rows int)

	Dir     string   // working directory
	Home    string   // home directory of the user; may be empty
	Environ []string // "NAME=value"
	Command string   // how the user calls this program, for hints
	Source  engine.Source

	// Supervised reports whether a job started this process; nil if none can have.
	Supervised func() bool

	// Confirmer asks the user a question, where a program has the terminal for itself; nil for a
	// question on the terminal.
	Confirmer func(ctx context.Context, question string) (bool, error)

	// Yes is the flag --yes: the user confirms what would be asked.
	Yes bool
	// NoInput is the flag --no-input, or --json of a command about registries: nothing is asked.
	NoInput bool
	// RemotePolicy changes how a remote configuration is fetched; nil for public servers. It is
	// for tests.
	RemotePolicy func(*egress.Policy)

	// PolicyPath is the file with the rules of the machine; empty if it can have none. ReadPolicy
	// reads it, in tests; nil for [userfile.ReadRoot].
	PolicyPath string
	ReadPolicy func(path string, limit int64) ([]byte, error)

	// Reproducible makes runs carry out one tool call at a time. Together with a
	// fixed Source, two runs of one cassette write the same journal.
	Reproducible bool

	// Secrets are never printed. A command adds those that it comes to know.
	Secrets secret.Set

	saves   atomic.Bool // a run has begun
	errors  diversion   // where standard error leads, once it is guarded
	logging sync.Mutex  // one line of the log at a time
}

// System returns the host of this process. The environment is read here, once. Variables
// that could be secrets are then removed from it, so that other code in this process does
// not see them. Commands use Environ.
func System() *Host {
	dir, err := os.Getwd()
	if err != nil {
		dir = "." // a removed working directory fails when it is used
	}
	home, _ := os.UserHomeDir()
	environ := os.Environ()
	process.Forget(environ)
	return &Host{
		Supervised: func() bool { return sandbox.Supervised(os.Getpid()) },
		Stdin:      os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		StdinIsTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		StdoutIsTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		StderrIsTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		Width:            width(os.Stdout),
		Size:             func() (columns, rows int) { return size(os.Stdout) },
		Dir:              dir,
		Home:             home,
		Environ:          environ,
		Command:          commandName(),
		PolicyPath:       policyPath(runtime.GOOS),
		Source:           engine.SystemSource(),
	}
}

// policyPath is where the administrator of a machine puts rules for all users. Nothing moves it.
func policyPath(goos string) string {
	if goos == "windows" {
		return "" // owners are not known there
	}
	return "/etc/perstack/policy.toml"
}

func width(f *os.File) int {
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0 // not a terminal
	}
	return columns
}

// commandName tells a program that `go run` built for one call from an installed one:
// its path is gone when the user reads the hint.
func commandName() string {
	if path, err := os.Executable(); err == nil && strings.Contains(path, "go-build") {
		return "go run ./cmd/perstack"
	}
	return "perstack"
}

// Saves says that the command saves its work when it is stopped.
func (h *Host) Saves() { h.saves.Store(true) }

// Interruptible is [process.Interruptible] with the messages of this command.
func (h *Host) Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return process.Interruptible(ctx, h.Stderr, h.saves.Load)
}

// Getenv returns a variable of the process environment, or "".
func (h *Host) Getenv(name string) string {
	for _, v := range h.Environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

// Path makes a path absolute against the working directory.
func (h *Host) Path(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(h.Dir, path)
}

// CachePath returns the directory for what can be fetched again, for all projects of the
// user: PERSTACK_CACHE_PATH, else perstack in the cache directory of the user. It is empty
// if that is not known. Env files cannot set it, because code is started from there.
func (h *Host) CachePath() string {
	if path := h.Getenv("PERSTACK_CACHE_PATH"); path != "" {
		return h.Path(path)
	}
	if dir := h.userCache(runtime.GOOS); dir != "" {
		return filepath.Join(dir, "perstack")
	}
	return ""
}

// userCache is os.UserCacheDir for Environ: the environment of the process itself was
// emptied.
func (h *Host) userCache(goos string) string {
	below := func(dir string, names ...string) string {
		if dir == "" {
			return ""
		}
		return filepath.Join(append([]string{dir}, names...)...)
	}
	switch goos {
	case "windows":
		return h.Getenv("LocalAppData")
	case "darwin":
		return below(h.Home, "Library", "Caches")
	}
	// A relative path is not valid: it would depend on the working directory.
	if dir := h.Getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return below(h.Home, ".cache")
}
