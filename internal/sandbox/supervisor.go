package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// A Supervisor runs commands, and ends them with all they started: each when its call
// ends, all of them on [Supervisor.Close] and when this process dies. It starts its
// process at the first command, and another one if that was killed.
//
// Each server has a process of its own. What a program leaves behind in a session of its
// own can be of any program that the same process started, and is spared as long as one
// of those runs; beside a server, that would be for ever.
type Supervisor struct {
	connecting sync.Mutex // one at a time, and not mu: to end must not wait for a start

	mu      sync.Mutex
	link    *link // to the process; nil before the first command. See link_*.go
	servers map[*link]struct{}
	over    bool

	patience time.Duration // with a process that does not answer
	family   family        // the processes
}

// NewSupervisor returns a Supervisor. The program must have called [Init].
func NewSupervisor() *Supervisor { return &Supervisor{patience: defaultPatience} }

// defaultPatience is how long the process of a Supervisor may take for what it can do
// in no time. Then it is given up: a command must have stopped it.
const defaultPatience = 10 * time.Second

// errClosed says that the Supervisor takes no more commands.
var errClosed = errors.New("the supervisor is closed")

// Run runs a command and waits until it and all of its group are gone. The error is
// about starting it or losing sight of it; a command that failed is an Outcome.
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
	path, err := lookPath(c.Program, env)
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
	out.Exceeded = p.exceeded()
	return out, nil
}

// Close kills every running command and server with all it started, without a grace,
// and waits until they are gone. Their calls return; later ones are cancelled before
// they begin.
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

// end lets nothing start any more, and returns what there is.
func (s *Supervisor) end() []*link {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	links := slices.Collect(maps.Keys(s.servers))
	if s.link != nil {
		links = append(links, s.link)
	}
	return links
}

func (s *Supervisor) isOver() bool {
	_, over := s.current()
	return over
}

// connect returns the link of commands to a process that is ready, a new one if there
// is none. Since others may wait for it, it does not end with the context.
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
	return s.newLink(context.WithoutCancel(ctx), func(l *link) { s.link = l })
}

// connectServer returns a link for one server.
func (s *Supervisor) connectServer(ctx context.Context) (*link, error) {
	return s.newLink(ctx, func(l *link) {
		if s.servers == nil {
			s.servers = make(map[*link]struct{})
		}
		s.servers[l] = struct{}{}
	})
}

// disconnectServer ends what a server left behind.
func (s *Supervisor) disconnectServer(l *link) error {
	err := l.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.servers, l)
	return err
}

func (s *Supervisor) newLink(ctx context.Context, keep func(*link)) (*link, error) {
	l, err := newLink(ctx, s.patience, &s.family)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over { // meanwhile; nobody else knows of the new process
		l.letGo()
		return nil, errClosed
	}
	keep(l)
	return l, nil
}

func (s *Supervisor) current() (l *link, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link, s.over
}
