package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"
)

// A Supervisor runs commands, and ends them with all they started: each when its call
// ends, all of them on [Supervisor.Close] and when this process dies. It starts its
// supervisor process at the first command, and another one if that was killed.
//
// Each server has a supervisor process of its own. What a program leaves behind in a
// session of its own can belong to any program of the same supervisor process, and is
// spared as long as one of them runs. Next to a server, that would be for ever.
type Supervisor struct {
	connecting sync.Mutex // one at a time; not mu, because Close must not wait for a start

	mu    sync.Mutex
	link  *link              // to the process for commands; nil before the first. See link_*.go
	links map[*link]struct{} // that one, and one for each server
	over  bool

	patience time.Duration // with a supervisor process that does not answer
	pids     supervisorPIDs
}

// NewSupervisor returns a Supervisor. The program must have called [Init].
func NewSupervisor() *Supervisor {
	return &Supervisor{patience: defaultPatience, links: make(map[*link]struct{})}
}

// defaultPatience is how long a supervisor process may take for what normally takes no
// time. After that it is abandoned: a command must have stopped it.
const defaultPatience = 10 * time.Second

// errClosed says that the Supervisor takes no more commands.
var errClosed = errors.New("the supervisor is closed")

// Run runs a command and waits until it and all of its group have ended. The error is
// about starting or losing it; a command that failed is an Outcome.
func (s *Supervisor) Run(ctx context.Context, c Command) (Outcome, error) {
	if s == nil {
		return Outcome{}, fmt.Errorf("%w: there is no supervisor here", errSupervisor)
	}
	if err := c.validate(); err != nil {
		return Outcome{}, err
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	env, dropped := c.environment()
	out := Outcome{ExitCode: -1, DroppedEnv: dropped}
	if ctx.Err() != nil || s.isOver() {
		out.Cancelled = true
		return out, nil
	}
	path, err := LookPath(c.Program, env)
	if err != nil {
		return out, err
	}
	begin := c.Now()
	p, err := s.start(ctx, path, c, env)
	if errors.Is(err, errClosed) {
		out.Cancelled = true
		return out, nil
	}
	if err != nil {
		return out, err
	}
	out.TimedOut, out.Cancelled, err = p.supervise(ctx, c.Timeout, c.Grace)
	out.Stdout, out.Stderr = p.output()
	out.DurationMs = max(0, c.Now().Sub(begin).Milliseconds())
	if err != nil {
		return out, err
	}
	out.ExitCode, out.Signal = p.status()
	out.Exceeded = p.limit
	return out, nil
}

// Close kills every running command and server with all it started, without grace, and
// waits until they have ended. Their calls return; later calls are cancelled before they
// begin.
func (s *Supervisor) Close() error {
	links := s.end()
	failed := make(chan error, len(links))
	for _, l := range links {
		go func() { failed <- l.close() }()
	}
	var err error
	for range links {
		err = errors.Join(err, <-failed)
	}
	return err
}

// end allows no further starts, and returns the links that exist.
func (s *Supervisor) end() []*link {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	return slices.Collect(maps.Keys(s.links))
}

func (s *Supervisor) isOver() bool {
	_, over := s.current()
	return over
}

// connect returns the link for commands, a new one if there is none. Other calls may wait
// for the same link, so it is not cancelled with the context of this one.
func (s *Supervisor) connect(ctx context.Context) (*link, error) {
	s.connecting.Lock()
	defer s.connecting.Unlock()
	l, over := s.current()
	if over {
		return nil, errClosed
	}
	if l != nil && !l.isLost() {
		return l, nil
	}
	fresh, err := s.newLink(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.links, l) // it has ended
	s.link = fresh
	return fresh, nil
}

// newLink starts a supervisor process.
func (s *Supervisor) newLink(ctx context.Context) (*link, error) {
	l, err := newLink(ctx, s.patience, &s.pids)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over { // closed meanwhile; nothing else ends the new process
		l.release()
		return nil, errClosed
	}
	s.links[l] = struct{}{}
	return l, nil
}

// endLink kills what a server left behind.
func (s *Supervisor) endLink(l *link) error {
	err := l.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.links, l)
	return err
}

func (s *Supervisor) current() (l *link, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link, s.over
}

// ReserveThreads makes sure that this process has so many threads, even if they are idle.
// A Go program crashes when it cannot get a thread, and a command that keeps forking can
// use up all of them until it is killed.
func ReserveThreads(n int) {
	var there sync.WaitGroup
	free := make(chan struct{})
	for range n {
		there.Add(1)
		go func() {
			runtime.LockOSThread() // one each
			defer runtime.UnlockOSThread()
			there.Done()
			<-free
		}()
	}
	there.Wait()
	close(free) // the runtime keeps the threads
}
