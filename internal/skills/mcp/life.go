package mcp

import (
	"context"
	"errors"
	"fmt"
)

// An attempt is one start of the server. All who need the server share it; it ends when
// the skill is closed, not when one of them loses patience.
type attempt struct {
	done   chan struct{}
	after  *server // the one before, which may not be gone yet; nil if there was none
	server *server // nil when the start failed
	err    error
}

// wait waits for the outcome of the start.
func (a *attempt) wait(ctx context.Context) (*server, error) {
	select {
	case <-a.done:
		return a.server, a.err
	default:
	}
	select {
	case <-a.done:
		return a.server, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the server: %w", context.Cause(ctx))
	}
}

// errClosed is the error of using a skill that was closed.
var errClosed = errors.New("the skill was closed")

// maxFailures is how often a server may fail to start, or die, without having answered a
// call. Then it is left dead: the next start would not be another one.
const maxFailures = 2

// begin returns the start that is under way or has worked, or makes a new one.
func (s *Skill) begin(ctx context.Context) (*attempt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, s.named(errClosed)
	case s.attempt != nil && s.attempt.isGood():
		return s.attempt, nil
	case s.final != nil:
		return nil, s.final
	}
	if s.end == nil {
		// The server outlives the one who started it.
		s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	}
	a := &attempt{done: make(chan struct{})}
	if s.attempt != nil {
		a.after = s.attempt.server
	}
	s.attempt = a
	go s.carryOut(a)
	return a, nil
}

// isGood reports whether an attempt is under way, or its server lives.
func (a *attempt) isGood() bool {
	select {
	case <-a.done:
		return a.server != nil && a.server.isAlive()
	default:
		return true
	}
}

// carryOut starts the server and says what came of it.
func (s *Skill) carryOut(a *attempt) {
	defer close(a.done)
	if a.after != nil {
		<-a.after.gone // and counted
		a.after = nil
	}
	s.mu.Lock()
	a.err = s.final
	s.mu.Unlock()
	if a.err != nil {
		return
	}
	a.server, a.err = s.start(s.life)
	if a.err == nil {
		if err := s.admit(a.server); err != nil {
			_ = a.server.stop(err) // the first error is the one to tell
			a.server, a.err = nil, err
		}
	}
	if a.err != nil {
		s.failed(a.err)
	}
}

// failed counts a failed start or a death. A server that dies while it starts is a failed
// start, and no death.
func (s *Skill) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures++; s.failures >= maxFailures && s.final == nil {
		s.final = err
	}
}

// answered says that the server does its work.
func (s *Skill) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = 0
}

// ready returns a server that lives, and starts it if there is none.
func (s *Skill) ready(ctx context.Context) (*server, error) {
	a, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	return a.wait(ctx)
}

// Close ends the server, also one that is just being started. It returns when no process
// of it is left.
func (s *Skill) Close() error {
	s.mu.Lock()
	s.closed = true
	a := s.attempt
	if s.end != nil {
		s.end()
	}
	s.mu.Unlock()
	if a == nil {
		return nil
	}
	<-a.done
	if a.server == nil {
		return nil
	}
	return a.server.stop(errClosed)
}

// A namedError has the name of the skill before it.
type namedError struct {
	skill string
	err   error
}

func (e *namedError) Error() string { return fmt.Sprintf("skill %q: %v", e.skill, e.err) }
func (e *namedError) Unwrap() error { return e.err }

func (s *Skill) named(err error) error { return &namedError{s.o.Name, err} }

// unnamed takes the name off again, for a caller who puts it there too.
func unnamed(err error) error {
	if n, ok := errors.AsType[*namedError](err); ok {
		return n.err
	}
	return err
}
