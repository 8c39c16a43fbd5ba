//go:build unix

package sandbox

import (
	"errors"
	"math"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A keeper is the supervisor at work. One goroutine owns it, so a program cannot end
// between its start and our taking note of it.
type keeper struct {
	socket  socket
	self    int
	running map[int]*ward // by process number, which is that of the group and session
	byID    map[uint64]*ward
	mute    bool // perstack could not be told something
}

// A ward is a program that runs.
type ward struct {
	id    uint64
	pid   int
	begun uint64 // as the system counts

	most     int        // processes and threads that it may have; 0 for any number
	exceeded string     // why we ended it
	visible  []*os.File // its entries of /proc; see keepVisible
}

// A request is a message with the descriptors that came along.
type request struct {
	message
	files []*os.File
}

// spareThreads are those that the supervisor needs to end a program that left it none.
const spareThreads = 6

// sweepAgain is how soon processes are looked for again that could not be ended at once.
const sweepAgain = 20 * time.Millisecond

// countEvery is how often the processes and threads of a cell are counted: seldom enough
// to cost nothing, and often enough that a program which multiplies is ended while others
// still find room.
const countEvery = 250 * time.Millisecond

// serve is the life of the supervisor process: it starts and ends programs until its
// lease is over, ends everything, and returns the exit code.
func serve(lease *os.File) int {
	// Only SIGKILL shall end it before its time. The signals are not ignored, since
	// programs would inherit that.
	deaf := make(chan os.Signal, 1)
	signal.Notify(deaf, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM)
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, unix.SIGCHLD)

	k := &keeper{socket: socket{lease}, self: os.Getpid(), running: make(map[int]*ward), byID: make(map[uint64]*ward)}
	ReserveThreads(spareThreads)
	hello := &message{kind: kindHello}
	if err := k.prepare(); err != nil {
		hello.text = err.Error()
	}
	if k.socket.send(hello) != nil || hello.text != "" {
		return 1
	}
	requests := make(chan request)
	go k.read(requests)

	again := time.NewTimer(math.MaxInt64)
	count, counting := time.NewTimer(math.MaxInt64), false
	for {
		clean := true
		select {
		case r, ok := <-requests:
			if !ok || !k.obey(r) {
				k.endAll()
				return 0
			}
		case <-deaths:
			clean = k.collect()
		case <-again.C:
			clean = k.sweep(0)
		case <-count.C:
			counting = false
			k.count()
		}
		if !counting && k.isLimited() {
			counting = true
			count.Reset(countEvery)
		}
		if k.mute {
			k.endAll()
			return 1
		}
		if !clean {
			again.Reset(sweepAgain)
		}
	}
}

// prepare makes sure that the safeguards are in place, or says which one is not.
func (k *keeper) prepare() error {
	if err := Shield(); err != nil {
		return err
	}
	if err := checkPrivileges(); err != nil {
		return err
	}
	return canSweep()
}

// read hands on what perstack says. The channel is closed when the lease is over.
func (k *keeper) read(requests chan<- request) {
	defer close(requests)
	for {
		m, files, err := k.socket.receive(maxMessage, 4)
		if err != nil {
			return
		}
		requests <- request{m, files}
	}
}

// obey does what it is told, and reports whether that made sense.
func (k *keeper) obey(r request) bool {
	defer closeAll(r.files...)
	switch {
	case r.kind == kindStart && len(r.files) == 4 && k.byID[r.id] == nil && len(r.argv) > 0:
		k.start(r)
	case r.kind == kindSignal && len(r.files) == 0 && (r.signal == uint64(unix.SIGTERM) || r.signal == uint64(unix.SIGKILL)):
		if w := k.byID[r.id]; w != nil { // it may have ended meanwhile
			_ = unix.Kill(-w.pid, syscall.Signal(r.signal)) // that nobody is left is fine
		}
	default:
		return false
	}
	return true
}

// start starts a program in a session of its own, and with it a process group numbered
// like the program. A group alone would keep a terminal: through /dev/tty a command
// could draw on it, and type (TIOCSTI) into the shell that comes after us.
//
// The directory is entered here and inherited: nothing else in this process cares where
// it is, and an open directory cannot be swapped for another.
func (k *keeper) start(r request) {
	var pid int
	err := unix.Fchdir(int(r.files[0].Fd()))
	if err == nil && r.cell == "" {
		pid, err = fork(r.path, r.argv, r.env, r.files[1:])
		err = explain(r.path, err)
	} else if err == nil {
		pid, err = k.lockIn(r)
	}
	_ = unix.Chdir("/") // so that no directory is kept in use; nothing depends on it
	if err != nil {
		k.say(failed(r.id, err))
		return
	}
	w := &ward{id: r.id, pid: pid, begun: startTime(pid)}
	if r.cell != "" {
		w.lockedIn(r.cell)
	}
	k.running[pid], k.byID[r.id] = w, w
	k.say(&message{kind: kindStarted, id: r.id})
}

// failed is how we tell that a program did not start.
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

// maxReason is what is told of a failure at most. With the rest of the message it fits into
// maxAnswer.
const maxReason = 2 << 10

// explain says more than the system about a program that did not start: it says "not found"
// also when the program is there, and what its #! line names is not.
func explain(path string, err error) error {
	if errors.Is(err, unix.ENOENT) && unix.Access(path, unix.F_OK) == nil {
		return errInterpreter
	}
	return err
}

// fork starts a program with these files as its streams, in a session of its own.
func fork(path string, argv, env []string, files []*os.File) (pid int, err error) {
	attr := &syscall.ProcAttr{Env: env, Sys: &syscall.SysProcAttr{Setsid: true}}
	for _, f := range files {
		attr.Files = append(attr.Files, f.Fd())
	}
	return syscall.ForkExec(path, argv, attr)
}

func (k *keeper) report(w *ward, status syscall.WaitStatus) {
	m := &message{kind: kindEnded, id: w.id, text: w.exceeded}
	if status.Signaled() {
		m.signal = uint64(status.Signal())
	} else {
		m.code = uint64(status.ExitStatus())
	}
	k.say(m)
}

// say notes that nobody listens. Then the lease is over, even if nobody said so.
func (k *keeper) say(m *message) { k.mute = k.socket.send(m) != nil || k.mute }

// wait collects the status of a child that has ended.
func wait(pid int) (status syscall.WaitStatus) {
	for {
		_, err := syscall.Wait4(pid, &status, 0, nil)
		if !errors.Is(err, unix.EINTR) {
			return status
		}
	}
}
