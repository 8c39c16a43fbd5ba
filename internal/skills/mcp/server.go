package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/internal/sandbox"
)

// A server is one connection to an MCP server, from its start to its end.
type server struct {
	skill   *Skill
	label   string                 // what was started, as the user knows it
	process *sandbox.ServerProcess // nil for a remote server
	guard   *guard
	session *sdk.ClientSession
	memory  memory
	first   *listing // what it offered when it started
	pipe    *pipe    // to the process; nil for a remote server

	admitted bool // it has started; guarded by the skill

	ctx    context.Context // ends when the server does
	cancel context.CancelFunc
	gone   chan struct{} // closed when the process and the connection have ended
	heard  chan struct{} // closed when its standard error ended
	once   sync.Once
	reason error // why it ended; set before gone is closed
	stuck  error // of ending the process

	dropOnce sync.Once
	relists  chan struct{} // has a value when the list of tools has changed

	mu         sync.Mutex
	settled    chan struct{} // closed when the list is known again; nil while it is known
	progresses map[int64]func(note string)
	tokens     int64
}

const (
	// stopTimeout is how long a server has to end when its input closes, and again when it is
	// told to. Then it is killed.
	stopTimeout = time.Second
	// drainTimeout is how long to wait for the last output of a process that ended.
	drainTimeout = time.Second
)

func (s *Skill) newServer(ctx context.Context, label string) *server {
	ctx, cancel := context.WithCancel(ctx)
	return &server{
		skill: s, label: label, ctx: ctx, cancel: cancel,
		gone: make(chan struct{}), heard: make(chan struct{}),
		relists: make(chan struct{}, 1), progresses: make(map[int64]func(string)),
	}
}

func (s *server) isAlive() bool { return s.ctx.Err() == nil }

// watch ends the server when its process or its connection does.
func (s *server) watch() {
	var ended <-chan struct{}
	if s.process != nil {
		ended = s.process.Done()
	}
	select {
	case <-s.ctx.Done():
		return
	case <-s.guard.ended.Done():
	case <-ended:
		select {
		case <-s.guard.ended.Done():
		case <-time.After(drainTimeout):
		case <-s.ctx.Done():
		}
	}
	reason := context.Cause(s.guard.ended)
	if reason == nil || errors.Is(reason, io.EOF) {
		reason = errEnded
	}
	s.fail(reason)
}

var errEnded = errors.New("the server ended")

// fail ends a server that failed, and counts the failure. A server that was not admitted yet is
// counted by its start.
func (s *server) fail(reason error) {
	s.once.Do(func() {
		s.finish(reason)
		s.skill.mu.Lock()
		admitted := s.admitted
		s.skill.mu.Unlock()
		if admitted {
			s.skill.failed(s.endError("and was not started again"))
		}
		close(s.gone)
	})
	<-s.gone
}

// stop ends a server that is no longer needed, and waits for its end.
func (s *server) stop(reason error) error {
	s.once.Do(func() {
		s.finish(reason)
		close(s.gone)
	})
	<-s.gone
	return s.stuck
}

// finish ends everything. Callers that wait for an answer return at once.
func (s *server) finish(reason error) {
	s.reason = reason
	s.cancel()
	if s.guard != nil {
		_ = s.guard.Close()
	}
	if s.process != nil {
		if err := s.process.Stop(stopTimeout); err != nil {
			s.stuck = fmt.Errorf("end %s: %w", s.label, err)
		}
		<-s.heard
	}
	if s.session != nil {
		_ = s.session.Close() // it was closed above; this ends what the library has running
	}
}

// endError describes the end of a server: when, how, and its last lines. It is called after the
// end.
func (s *server) endError(when string) error {
	text := "the connection to the server broke " + when
	if s.process != nil {
		text = "the server ended " + when + " (" + s.process.Exit() + ")"
	}
	if s.reason != nil && !errors.Is(s.reason, errEnded) {
		text += ": " + remoteError(s.reason).Error()
	}
	if last := s.memory.String(); last != "" {
		text += "; it said last: " + last
	}
	return s.skill.named(fmt.Errorf("%s: %s", s.label, text))
}

// listen reads the standard error of the process to its end.
func (s *server) listen() {
	defer close(s.heard)
	readLines(s.process.Stderr, s.skill.o.Redact, func(line string) {
		s.memory.keep(line)
		s.skill.lineLimit.add(line)
	})
}
