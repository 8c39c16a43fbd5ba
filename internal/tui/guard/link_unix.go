//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package guard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/process"
)

// linkFD is the end of the socket that the child inherits.
const linkFD = 3

// Messages of the child are lines that begin with a NUL. Everything else in the socket is what the Go
// runtime writes about a crash.
const (
	inOrder    = "\x00end" // the full-screen program has ended and left the screen
	hintPrefix = "\x00hint "
)

// maxTrace bounds what is kept of a crash.
const maxTrace = 64 << 10

// greeting is what waits in the socket for the child.
func greeting(guard int) string { return fmt.Sprintf("perstack guard %d\n", guard) }

// pair returns both ends of a new socket. Both are close-on-exec from the start.
func pair() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fds[0])
		unix.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "full-screen program"), os.NewFile(uintptr(fds[1]), "guard"), nil
}

// inherited returns the socket to the guard, if this process has one. It takes nothing from a
// descriptor that is something else.
func inherited() (*os.File, bool) {
	want := greeting(unix.Getppid())
	got := make([]byte, len(want))
	n, _, err := unix.Recvfrom(linkFD, got, unix.MSG_PEEK|unix.MSG_DONTWAIT)
	if err != nil || string(got[:n]) != want {
		return nil, false
	}
	unix.CloseOnExec(linkFD)
	link := os.NewFile(linkFD, "guard")
	if _, err := io.ReadFull(link, got); err != nil {
		return nil, false
	}
	return link, true
}

// guarded runs the full-screen program. The context ends when the guard is gone.
func (o Options) guarded(ctx context.Context, link *os.File, ui UI) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := debug.SetCrashOutput(link, debug.CrashOptions{}); err != nil {
		return fmt.Errorf("report crashes to the guard: %w", err)
	}
	before, _ := settings(int(o.In.Fd()))
	abandoned := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, link) // until the guard is gone
		abandon(before)
		close(abandoned)
		cancel(process.Signal{Signal: unix.SIGHUP})
	}()
	err := ui(ctx, func(hint string) {
		// A guard that is gone prints no hint.
		_, _ = io.WriteString(link, hintPrefix+strings.ReplaceAll(hint, "\n", " ")+"\n")
	})
	if _, gone := io.WriteString(link, inOrder+"\n"); gone != nil {
		<-abandoned // this process must not end before the terminal is restored
	}
	return err
}

// A report is what the guard learned from the socket.
type report struct {
	inOrder bool
	hint    string
	trace   []byte // of a crash; at most maxTrace bytes
}

// read reads until the child has ended.
func read(link io.Reader) (r report) {
	for in := bufio.NewReader(link); ; {
		line, err := in.ReadSlice('\n')
		text := strings.TrimSuffix(string(line), "\n")
		if hint, ok := strings.CutPrefix(text, hintPrefix); ok {
			r.hint = hint
		} else if text == inOrder {
			r.inOrder = true
		} else if len(r.trace)+len(line) <= maxTrace {
			r.trace = append(r.trace, line...)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return r
		}
	}
}

// abandon leaves the screen of a program whose guard is gone, and takes the terminal from the
// program: the shell has it by now, and would be disturbed by what the program writes and restores
// when it ends.
func abandon(before *unix.Termios) {
	// The system would stop a process in the background that changes the terminal.
	signal.Ignore(unix.SIGTTOU, unix.SIGTTIN)
	if now, err := settings(0); err == nil && before != nil && *now != *before {
		_, _ = unix.Write(1, []byte(leave))
		if now.Lflag&unix.ISIG == 0 { // as full-screen programs need it; a shell that reads a line sets it
			_ = setSettings(0, before)
			_ = flushInput(0)
		}
	}
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return // the program fails to read and write, or disturbs the shell
	}
	for fd := range 3 {
		_ = replace(null, fd)
	}
}
