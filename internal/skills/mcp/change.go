package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// A ChangedError says that a server does not offer the tools that were installed. It ends the run:
// the user has not reviewed the new ones.
type ChangedError struct {
	Skill       string
	Differences []string // from [Compare]
}

// AcceptAdvice is the end of the text of a [ChangedError]. A command line can replace it with
// its own command.
const AcceptAdvice = "to accept them, update the lockfile"

func (e *ChangedError) Error() string {
	return fmt.Sprintf("skill %q: the server does not offer the tools that were installed:\n  %s\nreview the differences; %s",
		e.Skill, strings.Join(e.Differences, "\n  "), AcceptAdvice)
}

// maxRelists is how often the list of one server can change before the server is stopped.
const maxRelists = 100

// admit accepts the list of a server that has just started, or refuses it. From then on the
// server counts its end as a failure itself.
func (s *Skill) admit(sv *server) error {
	if err := s.compare(sv.first); err != nil {
		return err
	}
	s.mu.Lock()
	sv.admitted = sv.isAlive()
	closed := s.closed
	s.mu.Unlock()
	switch {
	case closed:
		return s.named(errClosed)
	case !sv.admitted:
		_ = sv.stop(errEnded) // waits for the process
		return sv.endError("before it was ready")
	}
	go sv.relist()
	return nil
}

// compare compares a new list with what was installed, or with the last one.
func (s *Skill) compare(now *listing) error {
	if s.isLocked() {
		if differences := Compare(s.o.Locked, now.tools); len(differences) > 0 {
			err := &ChangedError{Skill: s.o.Name, Differences: differences}
			s.mu.Lock()
			s.final = err
			s.mu.Unlock()
			s.o.Stop(err)
			return err
		}
	}
	s.mu.Lock()
	before := s.listed
	s.listed = now
	s.mu.Unlock()
	if s.isLocked() || before == nil {
		return nil
	}
	differences := Compare(before.tools, now.tools)
	if len(differences) == 0 {
		return nil
	}
	if more := len(differences) - maxWarnings; more > 0 {
		differences = append(differences[:maxWarnings], fmt.Sprintf("and %d more", more))
	}
	s.o.Log.Warn("the tools of a skill changed", "skill", s.o.Name, "differences", differences)
	s.o.Changed()
	return nil
}

// listChanged requests the list again, once for all changes until then.
func (s *server) listChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settled == nil {
		s.settled = make(chan struct{})
	}
	select {
	case s.relists <- struct{}{}:
	default:
	}
}

// relist requests the list whenever it has changed, until the server ends.
func (s *server) relist() {
	for count := 0; ; count++ {
		select {
		case <-s.ctx.Done():
			return
		case <-s.relists:
		}
		if count == maxRelists {
			s.fail(fmt.Errorf("it said more than %d times that its list of tools changed", maxRelists))
			return
		}
		if err := s.listAgain(); err != nil {
			if changed, ok := errors.AsType[*ChangedError](err); ok {
				_ = s.stop(changed) // the run ends anyway
				return
			}
			s.fail(fmt.Errorf("its list of tools changed, and cannot be read: %w", err))
			return
		}
	}
}

func (s *server) listAgain() error {
	ctx, cancel := context.WithTimeout(s.ctx, s.skill.o.StartTimeout)
	defer cancel()
	now, err := s.list(ctx)
	if err != nil {
		return err
	}
	if err := s.skill.compare(now); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.relists) == 0 { // not changed again
		close(s.settled)
		s.settled = nil
	}
	return nil
}

// waitForList waits while the list is being read again, so that no call uses a tool that has
// changed.
func (s *server) waitForList(ctx context.Context) error {
	for {
		s.mu.Lock()
		settled := s.settled
		s.mu.Unlock()
		if settled == nil {
			return nil
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.ctx.Done():
			return nil // the call reports why
		}
	}
}
