//go:build unix

package sandbox

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// supervisorName is the whole command line of a supervisor.
	supervisorName = "perstack-supervisor"
	// leaseFD is the socket by which it hears from perstack.
	leaseFD = 3
)

// hooked is closed when main has called Init. It tells of the program, not of a job:
// whether starting it once more makes a supervisor, or main run again.
var (
	hooked = make(chan struct{})
	hook   = sync.OnceFunc(func() { close(hooked) })
)

var errNoHook = errors.New("this program cannot be its own supervisor: its main function must call perstack.Init first")

// Init makes this program able to supervise its commands. A main function calls it
// before anything else. In a process that was started to be a supervisor it does that
// work and does not return.
func Init() {
	if len(os.Args) == 1 && os.Args[0] == supervisorName && isSocket(leaseFD) {
		// Not os.Exit, which in a program built with -race waits for a second, and somebody
		// waits for us.
		syscall.Exit(serve(os.NewFile(nonblocking(leaseFD), "perstack")))
	}
	enterCell()
	hook()
}

func isSocket(fd int) bool {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	return err == nil && kind == unix.SOCK_STREAM
}

// nonblocking lets reading wait in the runtime and not in the kernel.
func nonblocking(fd int) uintptr {
	_ = unix.SetNonblock(fd, true) // it works either way
	unix.CloseOnExec(fd)
	return uintptr(fd)
}

// startSupervisor starts this program again, with nothing of its own but the socket:
// no environment, no streams, no terminal, no signals from it. The channel is to be
// closed when it has ended.
func startSupervisor(ended <-chan struct{}) (*os.Process, *os.File, error) {
	select {
	case <-hooked:
	default:
		return nil, nil, errNoHook
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, nil, err
	}
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		ours.Close()
		return nil, nil, err
	}
	defer null.Close()
	var process *os.Process
	err = withoutPrivileges(func() error {
		path, err := ownProgram()
		if err == nil {
			process, err = os.StartProcess(path, []string{supervisorName}, &os.ProcAttr{
				Dir:   "/",
				Env:   []string{},
				Files: []*os.File{null, null, null, theirs},
				Sys:   ofSupervisor(),
			})
		}
		return err
	}, ended)
	if err != nil {
		ours.Close()
		return nil, nil, err
	}
	return process, ours, nil
}
