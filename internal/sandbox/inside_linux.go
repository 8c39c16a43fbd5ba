package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/sandbox/space"
)

// The first process of a command at level full. It has the number 1 in a process table of its
// own, gives up all its rights, starts the program, and waits for it. It is not the program
// itself, because the kernel keeps most signals from a process with that number.

// firstName is its whole command line.
const firstName = "perstack-command"

// becomeFirstProcess does not return in a process that startInside started.
func becomeFirstProcess() {
	if len(os.Args) != 1 || os.Args[0] != firstName || !isRequestFile(requestFD) {
		return
	}
	unix.CloseOnExec(reportFD)
	report := os.NewFile(reportFD, "report")
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, unix.SIGTERM)
	program, err := startFirst()
	if err != nil {
		_ = writeMessage(report, failed(0, err))
		syscall.Exit(1)
	}
	if writeMessage(report, &message{kind: kindStarted}) != nil {
		syscall.Exit(1) // the holder is gone
	}
	go func() {
		for range terminate {
			_ = unix.Kill(-program, unix.SIGTERM)
		}
	}()
	status := waitFor(program)
	_ = writeMessage(report, &message{kind: kindEnded, code: uint64(status)})
	syscall.Exit(0) // and the kernel kills what the program left behind
}

// startFirst prepares this process and starts the program.
func startFirst() (pid int, err error) {
	m, err := readRequest(requestFD)
	if err != nil {
		return 0, err
	}
	p, err := policy.Decode(m.policy)
	if err != nil {
		return 0, err
	}
	killFirst()
	if err := errors.Join(unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0), space.EnterCommand()); err != nil {
		return 0, withoutErrno(err)
	}
	if err := unix.Chdir(m.dir); err != nil {
		return 0, withoutErrno(fmt.Errorf("start in %s: %w", m.dir, err))
	}
	path, err := LookPath(m.path, m.env)
	if err != nil {
		return 0, errors.New(plain(err))
	}
	limitResources(p.Limits)
	started := make(chan error, 1)
	go onOtherThread(func() {
		var err error
		if pid, err = startConfinedChild(path, m, p); err != nil {
			err = explain(path, err)
		}
		started <- err
	})
	return pid, <-started
}

// onOtherThread calls f on a thread of its own, which ends with the goroutine. It is not the
// first thread of the process: with that one confined like the program, the program could send
// signals to the process.
func onOtherThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	defer runtime.UnlockOSThread()
	done := make(chan struct{})
	go func() {
		defer close(done)
		onOtherThread(f)
	}()
	<-done // until then no other goroutine gets this thread
}

// startConfinedChild gives up all rights and starts the program. This thread is confined from
// then on, and with it the program, which is started from it.
func startConfinedChild(path string, m message, p *policy.Policy) (int, error) {
	if err := errors.Join(dropPrivileges(), space.Access(p).Restrict()); err != nil {
		return 0, withoutErrno(err)
	}
	return fork(path, m.argv, m.env, streams(), &syscall.SysProcAttr{Setsid: true})
}

// streams are those of this process, which it was started with for the program.
func streams() (files []*os.File) {
	for fd := range uintptr(3) {
		files = append(files, os.NewFile(fd, "stream"))
	}
	return files
}

// withoutErrno keeps an error about the sandbox from being taken for one about the program.
func withoutErrno(err error) error { return errors.New(err.Error()) }

// plain is the text by which [failure] recognizes an error.
func plain(err error) string {
	for _, known := range []error{ErrNotFound, ErrPermission} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return err.Error()
}

// waitFor reaps every process that ends, until the program has.
func waitFor(program int) syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WALL, nil)
		switch {
		case pid == program:
			return status
		case err != nil && !errors.Is(err, unix.EINTR):
			return syscall.WaitStatus(unix.SIGKILL) // no child is left, so the program is gone
		}
	}
}

func writeMessage(w io.Writer, m *message) error {
	data, err := m.encode()
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

func readMessage(r io.Reader) (message, error) {
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(r, header); err != nil {
		return message{}, err
	}
	length, err := bodySize(header, maxReport)
	if err != nil {
		return message{}, err
	}
	data := make([]byte, headerSize+length)
	copy(data, header)
	if _, err := io.ReadFull(r, data[headerSize:]); err != nil {
		return message{}, err
	}
	return decode(data)
}
