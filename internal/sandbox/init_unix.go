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
	// leaseFD is its socket to perstack.
	leaseFD = 3
)

// initCalled is closed when main has called Init. It is a fact about the program, not
// about a job: whether starting this binary again gives a supervisor, or runs main again.
var (
	initCalled = make(chan struct{})
	markInit   = sync.OnceFunc(func() { close(initCalled) })
)

var errNoInit = errors.New("this program cannot be its own supervisor: its main function must call perstack.Init first")

// Init makes this program able to supervise its commands. A main function calls it
// before anything else. In a process that was started to be a supervisor it does that
// work and does not return.
func Init() {
	if len(os.Args) == 1 && os.Args[0] == supervisorName && isSocket(leaseFD) {
		// Not os.Exit: in a program built with -race it waits for a second, and perstack
		// waits for this process.
		unix.CloseOnExec(leaseFD)
		syscall.Exit(serve(os.NewFile(leaseFD, "perstack")))
	}
	becomeConfinedProgram()
	markInit()
}

func isSocket(fd int) bool {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	return err == nil && kind == unix.SOCK_STREAM
}

// startSupervisor starts this program again with nothing but the socket: without
// environment, streams or terminal. The caller closes ended when the process has ended.
func startSupervisor(ended <-chan struct{}) (process *os.Process, ours socket, err error) {
	select {
	case <-initCalled:
	default:
		return nil, socket{}, errNoInit
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, socket{}, err
	}
	defer null.Close()
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, socket{}, err
	}
	defer theirs.Close()
	err = withoutPrivileges(func() error {
		path, err := ownProgram()
		if err == nil {
			process, err = os.StartProcess(path, []string{supervisorName}, &os.ProcAttr{
				Dir:   "/",
				Env:   []string{},
				Files: []*os.File{null, null, null, theirs},
				Sys:   supervisorAttributes(),
			})
		}
		return err
	}, ended)
	if err != nil {
		ours.conn.Close()
	}
	return process, ours, err
}

// supervisorPIDs are the processes of one [Supervisor]. When one of them is killed, the
// orphans it left are killed too; the others are children of this process as well and must
// be told apart from orphans.
type supervisorPIDs struct {
	mu   sync.Mutex
	pids map[int]struct{}
}

// start starts a supervisor process. has waits meanwhile, so that it cannot miss the new
// process.
func (f *supervisorPIDs) start(ended <-chan struct{}) (*os.Process, socket, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	process, ours, err := startSupervisor(ended)
	if err != nil {
		return nil, socket{}, err
	}
	if f.pids == nil {
		f.pids = make(map[int]struct{})
	}
	f.pids[process.Pid] = struct{}{}
	return process, ours, nil
}

// forget removes a process that has ended: its number can be reused.
func (f *supervisorPIDs) forget(pid int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.pids, pid)
}

func (f *supervisorPIDs) has(pid int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.pids[pid]
	return ok
}
