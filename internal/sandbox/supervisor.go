package sandbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Supervisor runs commands, and ends them with all they started: each when its call
// ends, all of them on [Supervisor.Close] and when this process dies. It starts its
// process at the first command, and another one if that was killed.
type Supervisor struct {
	connecting sync.Mutex // one at a time, and not mu: to end must not wait for a start

	mu   sync.Mutex
	link *link // to the process; nil before the first command. See link_*.go
	over bool

	patience time.Duration // with a process that does not answer
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
	env, dropped := Environment(c.Environ, c.Env)
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
	p, err := s.start(path, c, env)
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
	return out, nil
}

// Close kills every running command with all it started, without a grace, and waits
// until they are gone. Their calls return; later ones are cancelled before they begin.
func (s *Supervisor) Close() error {
	if l := s.end(); l != nil {
		return l.close()
	}
	return nil
}

// Kill is Close for a process that is about to end: it does not wait. What it sets off
// goes on when this process is gone.
func (s *Supervisor) Kill() {
	if l := s.end(); l != nil {
		l.letGo()
	}
}

// end lets nothing start any more.
func (s *Supervisor) end() *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	return s.link
}

func (s *Supervisor) isOver() bool {
	_, over := s.current()
	return over
}

// connect returns the link to a process that is ready, a new one if there is none.
func (s *Supervisor) connect() (*link, error) {
	s.connecting.Lock()
	defer s.connecting.Unlock()
	l, over := s.current()
	if over {
		return nil, errClosed
	}
	if l != nil && !l.isLost() {
		return l, nil
	}
	l, err := newLink(s.patience)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over { // meanwhile; nobody else knows of the new process
		l.letGo()
		return nil, errClosed
	}
	s.link = l
	return l, nil
}

func (s *Supervisor) current() (l *link, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link, s.over
}
