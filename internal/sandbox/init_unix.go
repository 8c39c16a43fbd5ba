//go:build unix

package sandbox

import (
	"errors"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/sandbox/probe"
	"github.com/perstack-go/perstack/internal/sandbox/selfcheck"
)

const (
	// supervisorName is the whole command line of a supervisor.
	supervisorName = "perstack-supervisor"
	// leaseFD is its socket to perstack.
	leaseFD = 3
	// holderFD is a file with the policy of the sandbox that it holds, if it holds one.
	holderFD = 4
	// groupFD is the directory of its control groups, if it has one; see group_linux.go.
	groupFD = 5
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
		unix.CloseOnExec(holderFD)
		unix.CloseOnExec(groupFD)
		syscall.Exit(serve(os.NewFile(leaseFD, "perstack")))
	}
	becomeFirstProcess()
	becomeConfinedProgram()
	selfcheck.Init(os.Args)
	probe.Init(os.Args)
	markInit()
}

func isSocket(fd int) bool {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	return err == nil && kind == unix.SOCK_STREAM
}

// startSupervisor starts this program again with nothing but the socket: without
// environment, streams or terminal. The caller closes ended when the process has ended. With a
// policy of level full, the process holds a sandbox; otherwise the policy is that of
// [policy.Supervisor].
func startSupervisor(ended <-chan struct{}, p *policy.Policy, g *groups) (process *os.Process, ours socket, err error) {
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
	attr := &os.ProcAttr{Dir: "/", Env: []string{}, Files: []*os.File{null, null, null, theirs}, Sys: supervisorAttributes()}
	restrict := withoutPrivileges
	if p.Restricts() {
		file, err := holdSandbox(attr, p)
		if err != nil {
			ours.conn.Close()
			return nil, socket{}, err
		}
		defer file.Close()
		restrict = withoutNewPrivileges
	}
	if g != nil {
		for len(attr.Files) < groupFD {
			attr.Files = append(attr.Files, null)
		}
		attr.Files = append(attr.Files, g.dir)
	}
	err = restrict(func() error {
		path, err := ownProgram()
		if err == nil {
			process, err = os.StartProcess(path, []string{supervisorName}, attr)
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
func (f *supervisorPIDs) start(ended <-chan struct{}, p *policy.Policy, g *groups) (*os.Process, socket, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	process, ours, err := startSupervisor(ended, p, g)
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
