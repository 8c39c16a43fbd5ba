//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/process"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/terminal"
)

// Run runs the full-screen program in a second process, and returns its exit code when it has ended.
// In the second process it runs ui and returns its error; the code is 0 then.
//
// If the program was killed, the code is 128 and the number of the signal. A panic counts as SIGABRT.
func Run(ctx context.Context, o Options, ui UI) (code int, err error) {
	if link, ok := inherited(); ok {
		return 0, o.guarded(ctx, link, ui)
	}
	code, err = o.guard(ctx)
	if err != nil {
		return 0, fmt.Errorf("the process of the full-screen program cannot be started: %w", err)
	}
	return code, nil
}

// A guard is the first process.
type guard struct {
	Options
	before    *unix.Termios // the settings of the terminal; nil if it has none
	child     int
	statuses  chan syscall.WaitStatus
	signals   chan os.Signal
	canStop   bool // a shell waits for this process and can continue it
	stopping  bool // this process has asked to be stopped, and was not continued yet
	stopCheck *time.Timer
}

// stopSettles is how long a stopped child is given to be continued. The shell continues guard and
// child one after the other, so the guard can see a child that is about to run again.
const stopSettles = 100 * time.Millisecond

func (o Options) guard(ctx context.Context) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	g := &guard{
		Options: o, statuses: make(chan syscall.WaitStatus), signals: make(chan os.Signal, 16),
		canStop: hasShell(), stopCheck: time.NewTimer(0),
	}
	<-g.stopCheck.C
	g.before, _ = settings(int(o.In.Fd())) // without settings there is nothing to restore

	// What saves a run and then ends the process must not see the signals here.
	forwarded := []os.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP}
	signal.Reset(forwarded...)
	signal.Notify(g.signals, append(forwarded, unix.SIGTSTP, unix.SIGCONT, unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM)...)
	defer signal.Stop(g.signals)
	defer process.WithoutDumps()()

	link, err := g.start()
	if err != nil {
		return 0, err
	}
	reports := make(chan report, 1)
	go func() { reports <- read(link) }()
	go g.wait()

	status := g.watch(ctx)
	// A program that the child left behind can have inherited nothing of the link, so this ends.
	r := <-reports
	link.Close()
	return g.finish(status, r), nil
}

// start starts the child with one end of the socket. The greeting in it says that this process is
// its guard.
func (g *guard) start() (link *os.File, err error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	if _, err = io.WriteString(ours, greeting(os.Getpid())); err == nil {
		g.child, err = sandbox.StartAgain(g.Environ, theirs)
	}
	if err != nil {
		ours.Close()
		return nil, err
	}
	return ours, nil
}

// wait passes on each change of the child, until it has ended.
func (g *guard) wait() {
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(g.child, &status, syscall.WUNTRACED|unix.WCONTINUED, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		g.statuses <- status
		if err != nil || status.Exited() || status.Signaled() {
			return
		}
	}
}

// watch returns when the child has ended. Until then it passes signals on, and stops and continues
// together with the child, so that a shell sees one program.
func (g *guard) watch(ctx context.Context) syscall.WaitStatus {
	cancelled := ctx.Done()
	for {
		select {
		case status := <-g.statuses:
			switch {
			case status.Stopped():
				g.stopCheck.Reset(stopSettles)
			case status.Continued():
				g.stopCheck.Stop()
			default:
				return status
			}
		case <-g.stopCheck.C:
			if !g.stopping { // the child alone was stopped
				g.stop()
			}
		case s := <-g.signals:
			switch s {
			case unix.SIGINT, unix.SIGTERM, unix.SIGHUP:
				// The terminal sends them to both. What receives them takes two for one.
				g.signal(s.(syscall.Signal))
			case unix.SIGTSTP:
				g.stop()
			case unix.SIGCONT:
				g.stopping = false
				g.stopCheck.Stop()
				g.signal(unix.SIGCONT)
				g.signal(unix.SIGWINCH) // it can have been resized
			}
		case <-cancelled:
			cancelled = nil
			g.signal(unix.SIGTERM)
		}
	}
}

// signal sends a signal to the child. It fails if the child has ended, which is noticed elsewhere.
func (g *guard) signal(s syscall.Signal) { _ = unix.Kill(g.child, s) }

// stop stops this process, as the child is stopped or about to be, and its group. Without a shell
// nothing would continue them: the system does not stop the child then, which waits to be continued.
func (g *guard) stop() {
	if !g.canStop {
		g.signal(unix.SIGCONT)
		return
	}
	g.stopping = true
	_ = unix.Kill(unix.Getpid(), unix.SIGSTOP) // a signal that was caught once does not stop a Go program again
}

// hasShell reports whether the parent belongs to this session: then it is a shell, or was started by
// one. Otherwise the system ignores requests to stop this process group.
func hasShell() bool {
	theirs, err := unix.Getsid(unix.Getppid())
	if err != nil {
		return false
	}
	ours, err := unix.Getsid(0)
	return err == nil && ours == theirs
}

// finish restores the terminal if the child did not, and returns the exit code.
func (g *guard) finish(status syscall.WaitStatus, r report) int {
	if status.Exited() && r.inOrder {
		return status.ExitStatus()
	}
	restored := g.restore()
	what, code := fmt.Sprintf("ended at once (exit code %d)", status.ExitStatus()), status.ExitStatus()
	switch {
	case len(r.trace) > 0:
		if restored { // it was on the screen that is gone now
			fmt.Fprintln(g.Err, terminal.Clean(string(r.trace)))
		}
		what, code = "crashed", 128+int(unix.SIGABRT)
	case status.Signaled():
		what, code = fmt.Sprintf("was killed (%s)", unix.SignalName(status.Signal())), 128+int(status.Signal())
	}
	hint := g.Hint
	if r.hint != "" {
		hint = r.hint
	}
	fmt.Fprintf(g.Err, "perstack: the full-screen program %s; %s\n", what, terminal.CleanLine(hint))
	return code
}

// restore leaves the screen of the child, if it was on one and the terminal is not that of another
// program by now. What was typed for the child is discarded: the shell would run it.
//
// Errors mean that the terminal is gone, and there is no other place for a message.
func (g *guard) restore() bool {
	fd := int(g.In.Fd())
	if !g.onScreen(fd) {
		return false
	}
	_, _ = io.WriteString(g.Out, leave)
	_ = setSettings(fd, g.before)
	_ = flushInput(fd)
	return true
}

// onScreen reports whether this process group has the terminal, and its settings are not what they
// were. A full-screen program changes them before it draws and after it has left the screen.
func (g *guard) onScreen(fd int) bool {
	if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil || group != unix.Getpgrp() || g.before == nil {
		return false
	}
	now, err := settings(fd)
	return err == nil && *now != *g.before
}

func settings(fd int) (*unix.Termios, error) { return unix.IoctlGetTermios(fd, getSettings) }
func setSettings(fd int, mode *unix.Termios) error {
	return unix.IoctlSetTermios(fd, putSettings, mode)
}
