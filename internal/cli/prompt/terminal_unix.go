//go:build unix

package prompt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// New returns an Approver that reads keys from in and writes to out. Both are the terminal.
func New(in *os.File, out io.Writer, opts Options) *Approver {
	return newApprover(newConsole(in, out), opts)
}

func newConsole(in *os.File, out io.Writer) console { return &tty{in: int(in.Fd()), Writer: out} }

type tty struct {
	in int
	io.Writer
	continued chan os.Signal // gets a value when a stopped process runs again
}

func (t *tty) size() (columns, rows int) {
	columns, rows, err := term.GetSize(t.in)
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// raw fails in a job of the shell that is in the background: it would be stopped.
func (t *tty) raw() (undo func(), err error) {
	if group, err := unix.IoctlGetInt(t.in, unix.TIOCGPGRP); err != nil || group != unix.Getpgrp() {
		return nil, errors.New("the terminal belongs to another program")
	}
	before, err := term.MakeRaw(t.in)
	if err != nil {
		return nil, fmt.Errorf("read single keys: %w", err)
	}
	t.continued = make(chan os.Signal, 1)
	signal.Notify(t.continued, unix.SIGCONT)
	return func() {
		signal.Stop(t.continued)
		_ = term.Restore(t.in, before)
	}, nil
}

// poll is how often a wait for keys looks at its context. It is less than the time within which a
// second signal ends the process, which would leave the terminal as it is.
const poll = 50 * time.Millisecond

// read never waits within a read of the terminal: that cannot be interrupted, and would take the
// first key of whatever comes after the question.
func (t *tty) read(ctx context.Context, timeout time.Duration) ([]byte, error) {
	deadline := time.Now().Add(timeout)
	for ctx.Err() == nil {
		select {
		case <-t.continued: // the shell has set the mode that it needs
			if _, err := term.MakeRaw(t.in); err != nil {
				return nil, err
			}
		default:
		}
		ready, err := t.wait()
		switch {
		case err != nil && !errors.Is(err, unix.EINTR):
			return nil, err
		case !ready && timeout > 0 && !time.Now().Before(deadline):
			return nil, nil
		case !ready:
			continue
		}
		chunk := make([]byte, 256)
		n, err := unix.Read(t.in, chunk)
		switch {
		case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN):
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return nil, io.EOF
		}
		return chunk[:n], nil
	}
	return nil, context.Cause(ctx)
}

// wait reports whether the terminal can be read, now or soon.
func (t *tty) wait() (ready bool, err error) {
	var set unix.FdSet
	set.Set(t.in)
	timeout := unix.NsecToTimeval(poll.Nanoseconds())
	n, err := unix.Select(t.in+1, &set, nil, nil, &timeout)
	return err == nil && n > 0, err
}
