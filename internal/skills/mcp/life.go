package mcp

import (
	"context"
	"errors"
	"fmt"
)

// An attempt is one start of the server, shared by all callers. It ends when the skill is closed,
// not when one of the callers is cancelled.
type attempt struct {
	done   chan struct{}
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

var errClosed = errors.New("the skill was closed")

// maxFailures is how often a server can fail to start, or end, without having answered a call.
// Then it is not started again.
const maxFailures = 2

// begin returns the attempt that is running or has succeeded, or begins a new one.
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
		// The server outlives the call that started it.
		s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	}
	var before *server // it can still be ending
	if s.attempt != nil {
		before = s.attempt.server
	}
	s.attempt = &attempt{done: make(chan struct{})}
	go s.runAttempt(s.attempt, before)
	return s.attempt, nil
}

// isGood reports whether an attempt is running, or its server is.
func (a *attempt) isGood() bool {
	select {
	case <-a.done:
		return a.server != nil && a.server.isAlive()
	default:
		return true
	}
}

// runAttempt starts the server after the one before has ended, and records the outcome.
func (s *Skill) runAttempt(a *attempt, before *server) {
	defer close(a.done)
	if before != nil {
		<-before.gone // and counted
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
			_ = a.server.stop(err) // the first error is returned
			a.server, a.err = nil, err
		}
	}
	if a.err != nil {
		s.failed(a.err)
	}
}

// failed counts a failed start, or the end of a server that had started.
func (s *Skill) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures++; s.failures >= maxFailures && s.final == nil {
		s.final = err
	}
}

// answered resets the count of failures.
func (s *Skill) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = 0
}

// ready returns a running server, and starts it if there is none.
func (s *Skill) ready(ctx context.Context) (*server, error) {
	a, err := s.begin(ctx)
	if err != nil {
		return nil, err
	}
	return a.wait(ctx)
}

// Close ends the server, even one that is being started, and waits for its processes.
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

// unnamed removes the name, for a caller that adds it, too.
func unnamed(err error) error {
	if n, ok := errors.AsType[*namedError](err); ok {
		return n.err
	}
	return err
}
