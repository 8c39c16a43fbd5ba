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

	"github.com/perstack-go/perstack/internal/sandbox/disk"
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

	mu       sync.Mutex
	commands map[string]*link   // to the processes for commands, by the sandbox they hold; "" without namespaces. See link_*.go
	links    map[*link]struct{} // those, and one for each server
	over     bool

	disk     *disk.Watch // nil without a limit; see limits.go
	openDirs []string    // that programs without a policy can write to, if their disk is limited
	onExcess func(Excess)
	onLost   func()

	patience time.Duration // with a supervisor process that does not answer
	pids     supervisorPIDs
}

// NewSupervisor returns a Supervisor. The program must have called [Init].
func NewSupervisor() *Supervisor {
	return &Supervisor{patience: defaultPatience, commands: make(map[string]*link), links: make(map[*link]struct{})}
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
	path, err := c.lookUp(env)
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
	out.TimedOut, out.Cancelled, err = p.supervise(ctx, c.Clock, c.Timeout, c.Grace)
	out.Stdout, out.Stderr = p.output()
	out.DurationMs = max(0, c.Now().Sub(begin).Milliseconds())
	if err != nil {
		if errors.Is(err, ErrLost) && c.inNamespaces() && s.onLost != nil {
			s.onLost()
		}
		return out, err
	}
	out.ExitCode, out.Signal = p.status()
	if out.Exceeded = p.limit; out.Signal == "SIGXFSZ" && c.Policy.Restricts() {
		out.Exceeded = tooLargeFile(c.Policy.Limits.FileSize)
	}
	s.noteLimit(out.Exceeded)
	return out, nil
}

// OnLost sets a function that is told each time a command was lost because the process that holds
// its sandbox was killed. It is set before the first command.
func (s *Supervisor) OnLost(told func()) { s.onLost = told }

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
	_, over := s.current("")
	return over
}

// connect returns the link for a command, a new one if there is none. Commands with the same
// sandbox share it. Other calls may wait for the same link, so it is not cancelled with the
// context of this one.
func (s *Supervisor) connect(ctx context.Context, c Command) (*link, error) {
	s.connecting.Lock()
	defer s.connecting.Unlock()
	key, err := c.sandboxKey()
	if err != nil {
		return nil, err
	}
	l, over := s.current(key)
	if over {
		return nil, errClosed
	}
	if l != nil && !l.isLost() {
		return l, nil
	}
	fresh, err := s.newLink(context.WithoutCancel(ctx), c)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.links, l) // it has ended
	s.commands[key] = fresh
	return fresh, nil
}

// sandboxKey tells apart the sandboxes that commands run in. Protected files are not part of
// it: more can be found while the sandbox exists.
func (c *Command) sandboxKey() (string, error) {
	if !c.inNamespaces() {
		return "", nil
	}
	p := *c.Policy
	p.Hidden, p.Frozen, p.Pinned = nil, nil, nil
	return p.Encode()
}

// newLink starts a supervisor process for a command or a server.
func (s *Supervisor) newLink(ctx context.Context, c Command) (*link, error) {
	l, err := newLink(ctx, s.patience, &s.pids, c)
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

// EndSandbox ends the sandboxes of commands that have this name, with all that runs in them.
func (s *Supervisor) EndSandbox(name string) error {
	s.mu.Lock()
	var ended []*link
	for key, l := range s.commands {
		if key != "" && l.sandbox == name {
			delete(s.commands, key)
			ended = append(ended, l)
		}
	}
	s.mu.Unlock()
	var err error
	for _, l := range ended {
		err = errors.Join(err, s.endLink(l))
	}
	return err
}

// currentLinks returns the links to the supervisor processes that run.
func (s *Supervisor) currentLinks() []*link {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.links))
}

// endLink kills what a server left behind.
func (s *Supervisor) endLink(l *link) error {
	err := l.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.links, l)
	return err
}

func (s *Supervisor) current(key string) (l *link, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commands[key], s.over
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
