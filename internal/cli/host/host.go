// Package host is what a command gets from the machine it runs on: streams, working
// directory, environment, clock. It also says how a command ends: with which exit
// code, and with which words.
//
// Commands read nothing of this from the process itself, so that a test can run them
// side by side in one process. Start reading at [Host], then [ExitError].
package host

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/term"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/secret"
)

// A Host is the surroundings of a command.
type Host struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	// Whether a person sits at the other end of a stream.
	StdinIsTerminal, StdoutIsTerminal bool
	Width                             int // columns of the terminal; 0 when there is none

	Dir     string   // working directory
	Home    string   // home directory of the user; may be empty
	Environ []string // "NAME=value"
	Command string   // how the user calls this program, for hints
	Source  engine.Source

	// Reproducible makes runs carry out one tool call at a time. Together with a
	// fixed Source, two runs of one cassette write the same journal.
	Reproducible bool

	// Secrets are never printed. A command adds those that it comes to know.
	Secrets secret.Set

	saves   atomic.Bool // a run has begun
	logging sync.Mutex  // one line of the log at a time
}

// System returns the surroundings of this process. The environment is read here, once:
// what could be a secret is then taken out of it, so that nothing else in this process
// comes by it. Commands go by Environ.
func System() *Host {
	dir, err := os.Getwd()
	if err != nil {
		dir = "." // a removed working directory shows when it is used
	}
	home, _ := os.UserHomeDir()
	environ := os.Environ()
	forget(environ)
	return &Host{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		StdinIsTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		StdoutIsTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		Width:            width(os.Stdout),
		Dir:              dir,
		Home:             home,
		Environ:          environ,
		Command:          commandName(),
		Source:           engine.SystemSource(),
	}
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

// ChoseStorage reports whether the user named the directory of the history. Only then
// may it be a link: one in the usual place may have come with a repository.
func (h *Host) ChoseStorage(flag string) bool {
	return flag != "" || h.Getenv("PERSTACK_STORAGE_PATH") != ""
}

// StoragePath returns the directory of the history: the flag, else
// PERSTACK_STORAGE_PATH, else perstack in the working directory.
func (h *Host) StoragePath(flag string) string {
	if flag == "" {
		flag = h.Getenv("PERSTACK_STORAGE_PATH")
	}
	if flag == "" {
		flag = "perstack"
	}
	return h.Path(flag)
}
