//go:build unix

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// startPatience is longer than that with other answers: a program may lie on a slow disk.
const startPatience = 30 * time.Second

// A link is our end of the connection to a supervisor process.
type link struct {
	socket   socket
	process  *os.Process
	patience time.Duration
	since    uint64        // when the process began, as the system counts
	gone     chan struct{} // closed when the process has ended and was cleaned up after

	sending  sync.Mutex // one message at a time
	closing  sync.Once
	released atomic.Bool // we ended the lease: nothing needs to be said any more
	family   *family

	mu       sync.Mutex
	over     bool // no more starts
	last     uint64
	children map[uint64]*child
}

// newLink starts a supervisor process and waits until it is ready.
func newLink(ctx context.Context, patience time.Duration, relatives *family) (*link, error) {
	gone := make(chan struct{})
	process, end, err := relatives.start(gone)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSupervisor, err)
	}
	l := &link{
		socket: socket{end}, process: process, patience: patience, since: startTime(process.Pid),
		gone: gone, children: make(map[uint64]*child), family: relatives,
	}
	_ = end.SetReadDeadline(time.Now().Add(startPatience))
	waiting := context.AfterFunc(ctx, func() { _ = end.SetReadDeadline(time.Now()) })
	m, _, err := l.socket.receive(maxAnswer, 0)
	if waiting() {
		_ = end.SetReadDeadline(time.Time{})
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
	}
	if err != nil {
		_ = process.Kill()
		_, _ = process.Wait()
		relatives.forget(process.Pid)
		end.Close()
		close(gone)
		return nil, fmt.Errorf("%w: %w", errSupervisor, err)
	}
	go l.listen()
	return l, nil
}

// listen takes what the supervisor says until it is gone.
func (l *link) listen() {
	for {
		m, _, err := l.socket.receive(maxAnswer, 0)
		if err != nil {
			break
		}
		if !l.take(m) {
			l.abandon() // it talks nonsense
			break
		}
	}
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	// It closes its end by ending. If it did not do so by itself, nobody has taken care
	// of what is below it.
	well := l.endedWell()
	l.family.forget(l.process.Pid)
	if !well {
		endOrphans(l.since, l.family.has)
	}
	l.socket.f.Close()
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

// endedWell waits for the end of the process, and reports whether it had done its work.
func (l *link) endedWell() bool {
	patience := time.AfterFunc(l.patience, l.abandon)
	defer patience.Stop()
	state, err := l.process.Wait()
	return err == nil && state.Success()
}

// take acts on a message, and reports whether it made sense.
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

// failure is why a program did not start: what the system said, or what we said.
func failure(m message) error {
	switch m.text {
	case "":
		return syscall.Errno(m.errno)
	case ErrOutside.Error():
		return ErrOutside
	case errInterpreter.Error():
		return errInterpreter
	}
	return errors.New(m.text)
}

// start has a program started.
func (l *link) start(p program) (*child, error) {
	dir := p.openDir
	if dir == nil {
		var err error
		if dir, err = os.OpenFile(p.dir, os.O_RDONLY|unix.O_DIRECTORY, 0); err != nil {
			return nil, err
		}
		defer dir.Close()
	}
	c := &child{link: l, started: make(chan error, 1), ended: make(chan struct{})}
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return nil, ErrLost
	}
	l.last++
	c.id = l.last
	l.children[c.id] = c
	l.mu.Unlock()
	err := l.say(&message{kind: kindStart, id: c.id, path: p.path, argv: p.argv, env: p.env, cell: p.cell}, dir, p.stdin, p.stdout, p.stderr)
	if err != nil {
		l.mu.Lock()
		delete(l.children, c.id)
		l.mu.Unlock()
		if errors.Is(err, unix.E2BIG) {
			return nil, err // and nothing was said
		}
		if !l.released.Load() { // else it is ending what runs, and must be let do that
			l.abandon()
		}
		return nil, ErrLost
	}
	patience := time.NewTimer(startPatience)
	defer patience.Stop()
	select {
	case err = <-c.started:
	case <-patience.C:
		l.abandon()
		err = <-c.started
	}
	return c, err
}

func (l *link) say(m *message, files ...*os.File) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	return l.socket.send(m, files...)
}

// abandon gives up a supervisor that does not do its work; listen does the rest.
func (l *link) abandon() { _ = l.process.Kill() }

// isLost waits for the end of one that is ending.
func (l *link) isLost() bool {
	l.mu.Lock()
	over := l.over
	l.mu.Unlock()
	if over {
		<-l.gone
	}
	return over
}

// letGo ends the lease.
func (l *link) letGo() {
	l.closing.Do(func() {
		l.released.Store(true)
		conn, err := l.socket.f.SyscallConn()
		if err == nil {
			err = conn.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
		}
		if err != nil && !errors.Is(err, os.ErrClosed) {
			l.abandon()
		}
	})
}

// close ends the lease, and waits until everything has ended.
func (l *link) close() error {
	l.letGo()
	patience := time.NewTimer(l.patience)
	defer patience.Stop()
	select {
	case <-l.gone:
		return nil
	case <-patience.C:
	}
	l.abandon()
	<-l.gone
	return errors.New("end the commands: they did not end in time")
}
