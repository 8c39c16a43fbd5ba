package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/resolve"
	"github.com/perstack-go/perstack/internal/registry/scopes"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/store"
)

// The exit codes of perstack. They are a promise to scripts.
const (
	ExitOK      = 0 // completed
	ExitFailure = 1 // stopped by an error: provider, tool, sandbox, store, internal
	ExitUsage   = 2 // wrong usage or configuration; nothing was started
	ExitLimit   = 3 // a limit was reached
	ExitWaiting = 4 // waiting for the user

	// By a signal, after the state was saved.
	ExitHangup    = process.ExitHangup    // 129
	ExitInterrupt = process.ExitInterrupt // 130
	ExitTerminate = process.ExitTerminate // 143
)

// An ExitError is an error with its exit code. An empty Err means that nothing is left to
// print.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Usagef returns an error about how the command was called.
func Usagef(format string, args ...any) error {
	return &ExitError{ExitUsage, fmt.Errorf(format, args...)}
}

// Exit returns an error that ends the command with code and prints nothing.
func Exit(code int) error { return &ExitError{Code: code} }

// ExitCode returns the code that err leads to.
func ExitCode(err error) int {
	var exit *ExitError
	var engineErr *engine.Error
	var problems toml.Problems
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &exit):
		return exit.Code
	case errors.As(err, &engineErr) && engineErr.Kind == engine.KindInput:
		return ExitUsage
	case errors.As(err, &problems), errors.Is(err, manifest.ErrNotFound),
		errors.As(err, new(*scopes.ConflictError)), resolve.IsUnknownPin(err),
		errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrBadID), errors.Is(err, store.ErrLocked), errors.As(err, new(*history.IDError)):
		return ExitUsage
	}
	// What was wrong before anything was done is wrong usage.
	switch client.KindOf(err) {
	case client.Configuration, client.Unauthorized, client.NotFound, client.Policy, client.NotVerified:
		return ExitUsage
	}
	return ExitFailure
}

// A ClosedOutputError says that nothing reads what a command prints: a pager was left, or
// head has seen enough.
type ClosedOutputError struct{ Err error }

func (e *ClosedOutputError) Error() string { return "the output was closed" }
func (e *ClosedOutputError) Unwrap() error { return e.Err }

// GuardStdout makes commands return a [ClosedOutputError] when nothing reads their output.
func (h *Host) GuardStdout() { h.Stdout = closable{h.Stdout} }

// Terminal returns the files of the terminal, for a program that has it for itself; nil if standard
// input or output is not a terminal.
func (h *Host) Terminal() (in, out *os.File) {
	w := h.Stdout
	if c, ok := w.(closable); ok {
		w = c.w
	}
	in, isIn := h.Stdin.(*os.File)
	out, isOut := w.(*os.File)
	if !isIn || !isOut || !h.StdinIsTerminal || !h.StdoutIsTerminal {
		return nil, nil
	}
	return in, out
}

type closable struct{ w io.Writer }

func (c closable) Write(data []byte) (int, error) {
	n, err := c.w.Write(data)
	if errors.Is(err, syscall.EPIPE) {
		err = &ClosedOutputError{err}
	}
	return n, err
}

// Describe returns the text about err for the user; "" if there is none.
func Describe(err error) string {
	if _, closed := errors.AsType[*ClosedOutputError](err); err == nil || closed {
		return "" // a reader who has left wants no complaint
	}
	return terminal.Clean(Advise(err.Error()))
}
