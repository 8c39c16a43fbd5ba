//go:build unix

package sandbox

import (
	"cmp"
	"errors"
	"math"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// A supervisorLoop is the state of the supervisor process. One goroutine owns it, so the
// end of a program is never handled before its start was recorded.
type supervisorLoop struct {
	socket      socket
	self        int
	running     map[int]*runningProgram // by process number, which is that of the group and session
	byID        map[uint64]*runningProgram
	unreachable bool         // a message to perstack could not be sent
	held        *heldSandbox // the sandbox that this process holds; nil for none
	groups      *groups      // where programs get control groups; nil for none
}

// A runningProgram is a program that the supervisor started.
type runningProgram struct {
	id    uint64
	pid   int
	begun uint64 // as the system counts

	maxTasks     int           // processes and threads that it may have; 0 for any number
	maxMemory    int64         // bytes that it may have; 0 for any number
	sharedBefore int64         // shared memory of the machine when it started, in bytes
	exceeded     string        // the limit that it was killed for
	procEntries  []*os.File    // its files in /proc; see holdProcEntries
	group        *programGroup // its control group; nil for none
	outcome      *os.File      // what its first process reports at the end; nil if the program is the first
}

// A request is a message with the descriptors that came along.
type request struct {
	message
	files []*os.File
}

// spareThreads are the threads that the supervisor needs to kill a program that used up
// all processes of the user.
const spareThreads = 6

// sweepAgain is how soon a sweep that did not finish is repeated.
const sweepAgain = 20 * time.Millisecond

// countEvery is how often the processes and threads of a program are counted: rarely
// enough to cost nothing, and often enough that a program which keeps forking is killed
// before others fail for lack of processes.
const countEvery = 250 * time.Millisecond

// serve is the main function of the supervisor process. It starts and ends programs until
// its lease ends, kills everything, and returns the exit code.
func serve(lease *os.File) int {
	defer lease.Close()
	// Only SIGKILL can end this process early. The signals are caught and not ignored, since
	// programs would inherit ignored signals.
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM)
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, unix.SIGCHLD)

	perstack, err := newSocket(lease)
	if err != nil {
		return 1
	}
	k := &supervisorLoop{socket: perstack, self: os.Getpid(), running: make(map[int]*runningProgram), byID: make(map[uint64]*runningProgram)}
	ReserveThreads(spareThreads)
	if !k.greet() {
		return 1
	}
	requests, handled := make(chan request), make(chan struct{})
	go k.read(requests, handled)

	again := time.NewTimer(math.MaxInt64)
	count, counting, counted := time.NewTimer(math.MaxInt64), false, 0
	for {
		clean := true
		select {
		case r, ok := <-requests:
			if !ok || !k.handle(r) {
				k.endAll()
				return 0
			}
			handled <- struct{}{}
		case <-deaths:
			clean = k.collect()
		case <-again.C:
			clean = k.sweep(0)
		case <-count.C:
			counting = false
			k.count()
			if counted++; counted%2 == 0 { // every 500 ms
				k.weigh()
			}
		}
		if !counting && k.isLimited() {
			counting = true
			count.Reset(countEvery)
		}
		if k.unreachable {
			k.endAll()
			return 1
		}
		if !clean {
			again.Reset(sweepAgain)
		}
	}
}

// greet gets ready and tells perstack, and reports whether both worked.
func (k *supervisorLoop) greet() bool {
	hello := &message{kind: kindHello}
	listener, err := k.prepare()
	if err != nil {
		hello.text = err.Error()
		hello.text = hello.text[:min(len(hello.text), maxReason)]
	}
	var files []*os.File
	if listener != nil {
		defer listener.Close()
		files = append(files, listener)
	}
	return k.socket.send(hello, files...) == nil && err == nil
}

// prepare makes sure that the safeguards are in place, or returns which one is not. A process
// that holds a sandbox returns the listener of it.
func (k *supervisorLoop) prepare() (listener *os.File, err error) {
	k.groups = takeGroups()
	if k.held, err = takeSandbox(); err != nil {
		return nil, err
	}
	if err = Harden(); err != nil {
		return nil, err
	}
	if k.held != nil {
		listener, err = k.held.build()
	} else {
		err = checkPrivileges()
	}
	if err != nil {
		return nil, err
	}
	return listener, canSweep()
}

// read passes on the messages of perstack, each after the one before was handled: while a
// program is started, no descriptor arrives that it could inherit. It closes the channel when
// the lease ends.
func (k *supervisorLoop) read(requests chan<- request, handled <-chan struct{}) {
	defer close(requests)
	for {
		m, files, err := k.socket.receive(maxMessage, 4)
		if err != nil {
			return
		}
		requests <- request{m, files}
		<-handled
	}
}

// handle carries out a request, and reports whether it was valid.
func (k *supervisorLoop) handle(r request) bool {
	defer closeAll(r.files...)
	switch {
	case r.kind == kindStart && len(r.files) == k.startFiles() && k.byID[r.id] == nil && len(r.argv) > 0:
		k.start(r)
	case r.kind == kindSignal && len(r.files) == 0 && (r.signal == uint64(unix.SIGTERM) || r.signal == uint64(unix.SIGKILL)):
		if w := k.byID[r.id]; w != nil { // it may have ended meanwhile
			w.exceeded = cmp.Or(w.exceeded, r.text)
			_ = unix.Kill(-w.pid, syscall.Signal(r.signal)) // the group may be empty
		}
	default:
		return false
	}
	return true
}

// startFiles is how many descriptors come with a request: the streams of the program, and its
// directory unless the process holds a sandbox.
func (k *supervisorLoop) startFiles() int {
	if k.held != nil {
		return 3
	}
	return 4
}

// start starts a program, as the sandbox demands that it is for.
func (k *supervisorLoop) start(r request) {
	start := k.startHere
	if k.held != nil {
		start = k.startInside
	}
	w, err := start(r)
	if err != nil {
		k.send(failed(r.id, err))
		return
	}
	w.id, w.begun = r.id, startTime(w.pid)
	k.running[w.pid], k.byID[r.id] = w, w
	k.send(&message{kind: kindStarted, id: r.id})
}

// startHere starts a program in a session of its own, whose process group has the number of
// the program. A group alone would keep the terminal: through /dev/tty a command could
// draw on it, and type (TIOCSTI) into the shell of the user.
//
// The supervisor changes to the directory and the program inherits it: nothing else in
// this process depends on the working directory, and an open directory cannot be swapped
// for another.
func (k *supervisorLoop) startHere(r request) (*runningProgram, error) {
	if err := unix.Fchdir(int(r.files[3].Fd())); err != nil {
		return nil, err
	}
	defer func() { _ = unix.Chdir("/") }() // so that the directory does not stay in use
	p, err := policy.Decode(r.policy)
	if err != nil {
		return nil, err
	}
	if p.Restricts() {
		return k.startConfined(r, p)
	}
	pid, err := fork(r.path, r.argv, r.env, r.files[:3], &syscall.SysProcAttr{Setsid: true})
	return &runningProgram{pid: pid}, explain(r.path, err)
}

// failed is the message that a program did not start.
func failed(id uint64, err error) *message {
	m := &message{kind: kindFailed, id: id}
	if errno, ok := errors.AsType[unix.Errno](err); ok {
		m.errno = uint64(errno)
	} else {
		m.text = err.Error()
		m.text = m.text[:min(len(m.text), maxReason)] // it may name long paths
	}
	return m
}

// maxReason bounds the text about a failure. The whole message fits into maxAnswer.
const maxReason = 2 << 10

// explain tells two causes of ENOENT apart: the program does not exist, or the interpreter
// in its #! line does not.
func explain(path string, err error) error {
	if errors.Is(err, unix.ENOENT) && unix.Access(path, unix.F_OK) == nil {
		return ErrInterpreter
	}
	return err
}

// fork starts a program with these files as its streams and further descriptors.
func fork(path string, argv, env []string, files []*os.File, sys *syscall.SysProcAttr) (pid int, err error) {
	attr := &syscall.ProcAttr{Env: env, Sys: sys}
	for _, f := range files {
		attr.Files = append(attr.Files, f.Fd())
	}
	return syscall.ForkExec(path, argv, attr)
}

func (k *supervisorLoop) report(w *runningProgram, status syscall.WaitStatus) {
	m := &message{kind: kindEnded, id: w.id, text: w.exceeded}
	if status.Signaled() {
		m.signal = uint64(status.Signal())
	} else {
		m.code = uint64(status.ExitStatus())
	}
	k.send(m)
}

// send sends a message. If that fails, the lease is over, even without a message about it.
func (k *supervisorLoop) send(m *message) { k.unreachable = k.socket.send(m) != nil || k.unreachable }

// wait collects the status of a child that has ended.
func wait(pid int) (status syscall.WaitStatus) {
	for {
		_, err := syscall.Wait4(pid, &status, 0, nil)
		if !errors.Is(err, unix.EINTR) {
			return status
		}
	}
}
