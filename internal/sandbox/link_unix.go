//go:build unix

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// startPatience is longer than the time for other answers: a program may lie on a slow disk.
const startPatience = 30 * time.Second

// A link is our end of the connection to a supervisor process.
type link struct {
	socket   socket
	process  *os.Process
	patience time.Duration
	since    uint64        // when the process began, as the system counts
	gone     chan struct{} // closed when the process has ended and was cleaned up after
	holds    bool          // it holds a sandbox
	sandbox  string        // the name of that sandbox
	listener net.Listener  // of that sandbox; nil for none

	sending  sync.Mutex // one message at a time
	closing  sync.Once
	released atomic.Bool // release was called: no message is needed any more
	pids     *supervisorPIDs
	groups   *groups // the control groups of its programs; nil for none

	mu       sync.Mutex
	over     bool // no more starts
	last     uint64
	children map[uint64]*child
}

// newLink starts a supervisor process and waits until it is ready. If the command needs
// namespaces, the process holds a sandbox for it.
func newLink(ctx context.Context, patience time.Duration, pids *supervisorPIDs, c Command) (*link, error) {
	gone := make(chan struct{})
	held := policy.Off(policy.Supervisor)
	if c.inNamespaces() {
		held = c.Policy
	}
	g := supervisorGroups()
	process, ours, err := pids.start(gone, held, g)
	if err != nil {
		_ = g.remove() // nothing was started in it
		return nil, fmt.Errorf("%w: %w", errSupervisor, err)
	}
	l := &link{
		socket: ours, process: process, patience: patience, since: startTime(process.Pid),
		gone: gone, children: make(map[uint64]*child), pids: pids, groups: g,
	}
	l.holds, l.sandbox = held.Restricts(), held.Name
	_ = ours.conn.SetReadDeadline(time.Now().Add(startPatience))
	waiting := context.AfterFunc(ctx, func() { _ = ours.conn.SetReadDeadline(time.Now()) })
	m, files, err := l.socket.receive(maxAnswer, 1)
	defer closeAll(files...)
	if waiting() {
		_ = ours.conn.SetReadDeadline(time.Time{})
	} else {
		err = context.Cause(ctx)
	}
	switch {
	case err != nil && ctx.Err() != nil:
	case err != nil:
		err = fmt.Errorf("its process did not come up: %w", err)
	case m.kind != kindHello:
		err = errProtocol
	case m.text != "":
		err = errors.New(m.text)
	default:
		l.listener, err = handOver(files, held, c.Accept)
	}
	if err != nil {
		_ = process.Kill()
		_, _ = process.Wait()
		pids.forget(process.Pid)
		_ = g.remove() // it has started no program
		ours.conn.Close()
		close(gone)
		return nil, fmt.Errorf("%w: %w", errSupervisor, err)
	}
	go l.listen()
	return l, nil
}

// handOver gives the listener of a sandbox to the code that serves it.
func handOver(files []*os.File, held *policy.Policy, accept func(net.Listener)) (net.Listener, error) {
	if wanted := held.Listener; wanted != (len(files) == 1) || wanted && accept == nil {
		return nil, fmt.Errorf("%w: a listener is missing, or was not asked for", errProtocol)
	}
	if len(files) == 0 {
		return nil, nil
	}
	listener, err := net.FileListener(files[0])
	if err != nil {
		return nil, err
	}
	accept(listener)
	return listener, nil
}

// listen receives messages until the supervisor process has ended.
func (l *link) listen() {
	for {
		m, _, err := l.socket.receive(maxAnswer, 0)
		if err != nil {
			break
		}
		if !l.take(m) {
			l.abandon() // it violates the protocol
			break
		}
	}
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	// The socket closes when the process ends. If it did not end normally, its descendants
	// may still run.
	well := l.endedWell()
	l.pids.forget(l.process.Pid)
	if !well {
		endOrphans(l.since, l.pids.has)
	}
	_ = l.groups.remove() // one that cannot be removed is, at a later start
	l.socket.conn.Close()
	if l.listener != nil { // it would keep the network of the sandbox, and wait for ever
		_ = l.listener.Close()
	}
	l.mu.Lock()
	for id, c := range l.children {
		delete(l.children, id)
		c.err = ErrLost
		c.tell(ErrLost)
		close(c.ended)
	}
	l.mu.Unlock()
	close(l.gone)
}

// endedWell waits for the end of the process, and reports whether it ended normally.
func (l *link) endedWell() bool {
	patience := time.AfterFunc(l.patience, l.abandon)
	defer patience.Stop()
	state, err := l.process.Wait()
	return err == nil && state.Success()
}

// take handles a message, and reports whether it was valid.
func (l *link) take(m message) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, known := l.children[m.id]
	if !known {
		return false
	}
	switch m.kind {
	case kindStarted:
		c.tell(nil)
	case kindFailed:
		delete(l.children, m.id)
		c.tell(failure(m))
		close(c.ended)
	case kindEnded:
		delete(l.children, m.id)
		c.code, c.signal, c.limit = int(m.code), syscall.Signal(m.signal), m.text
		c.tell(nil)
		close(c.ended)
	default:
		return false
	}
	return true
}

// failure is why a program did not start: an error of the system, or one of ours.
func failure(m message) error {
	switch m.text {
	case "":
		return syscall.Errno(m.errno)
	case ErrOutside.Error():
		return ErrOutside
	case ErrInterpreter.Error():
		return ErrInterpreter
	case ErrNotFound.Error():
		return ErrNotFound
	case ErrPermission.Error():
		return ErrPermission
	}
	return errors.New(m.text)
}

// start has a program started.
func (l *link) start(p program) (*child, error) {
	files := []*os.File{p.stdin, p.stdout, p.stderr}
	if !p.inNamespaces { // there, a directory of the machine would be a way out
		dir := p.openDir
		if dir == nil {
			var err error
			if dir, err = os.OpenFile(p.dir, os.O_RDONLY|unix.O_DIRECTORY, 0); err != nil {
				return nil, err
			}
			defer dir.Close()
		}
		files = append(files, dir)
	}
	c := &child{link: l, confined: p.confined, started: make(chan error, 1), ended: make(chan struct{})}
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return nil, ErrLost
	}
	l.last++
	c.id = l.last
	l.children[c.id] = c
	l.mu.Unlock()
	err := l.send(&message{kind: kindStart, id: c.id, path: p.path, argv: p.argv, env: p.env, dir: p.dir, policy: p.policy}, files...)
	if err != nil {
		l.mu.Lock()
		delete(l.children, c.id)
		l.mu.Unlock()
		if errors.Is(err, unix.E2BIG) {
			return nil, err // nothing was sent
		}
		if !l.released.Load() { // else it is ending its programs, and must finish
			l.abandon()
		}
		return nil, ErrLost
	}
	select {
	case err = <-c.started:
	case <-time.After(startPatience):
		l.abandon()
		err = <-c.started
	}
	return c, err
}

func (l *link) send(m *message, files ...*os.File) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	return l.socket.send(m, files...)
}

// abandon kills a supervisor that does not answer; listen does the rest.
func (l *link) abandon() { _ = l.process.Kill() }

// isLost reports whether the supervisor has ended. It waits for one that is ending.
func (l *link) isLost() bool {
	l.mu.Lock()
	over := l.over
	l.mu.Unlock()
	if over {
		<-l.gone
	}
	return over
}

// release ends the lease.
func (l *link) release() {
	l.closing.Do(func() {
		l.released.Store(true)
		_ = l.socket.conn.CloseWrite() // it fails if the supervisor has ended
	})
}

// close ends the lease, and waits until everything has ended.
func (l *link) close() error {
	l.release()
	select {
	case <-l.gone:
		return nil
	case <-time.After(l.patience):
	}
	l.abandon()
	<-l.gone
	return errors.New("end the commands: they did not end in time")
}

// A child is a program that the supervisor started for us.
type child struct {
	link     *link
	id       uint64
	confined bool          // by its policy
	started  chan error    // told once
	ended    chan struct{} // closed when it has ended
	err      error         // set before ended is closed if the outcome is unknown
	code     int
	signal   syscall.Signal
	limit    string // the limit that the supervisor killed it for, if any
}

// tell reports how the start went; later calls do nothing.
func (c *child) tell(err error) {
	select {
	case c.started <- err:
	default:
	}
}

// terminate asks all of the group to end.
func (c *child) terminate() { c.send(unix.SIGTERM) }

// send asks the supervisor to signal the group. A supervisor that cannot be reached is
// abandoned, unless its lease was released: then it is killing the group anyway.
func (c *child) send(s unix.Signal) {
	err := c.link.send(&message{kind: kindSignal, id: c.id, signal: uint64(s)})
	if err != nil && !c.link.released.Load() {
		c.link.abandon()
	}
}

// kill kills all of the group, and returns when the supervisor confirmed it or was
// abandoned.
func (c *child) kill() {
	c.send(unix.SIGKILL)
	select {
	case <-c.ended:
	case <-time.After(c.link.patience):
		c.link.abandon()
	}
}

func (c *child) status() (exitCode int, signal string) {
	if c.signal == 0 {
		return c.code, ""
	}
	if name := unix.SignalName(c.signal); name != "" {
		return -1, name
	}
	return -1, c.signal.String()
}
