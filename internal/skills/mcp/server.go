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
	gone   chan struct{} // closed when nothing of it is left
	heard  chan struct{} // closed when its standard error ended
	once   sync.Once
	reason error // why it ended; set before gone is closed
	stuck  error // what did not go

	dropOnce sync.Once
	relists  chan struct{} // has a value when the list of tools has to be asked for again

	mu         sync.Mutex
	settled    chan struct{} // closed when the list is known again; nil when it is
	progresses map[int64]func(note string)
	tokens     int64
}

const (
	// patience is how long a server may take to end by itself, and again to end when it
	// is told to. Then it is killed.
	patience = time.Second
	// lastBytes is how long the last bytes of a server that ended may take to arrive.
	lastBytes = time.Second
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
	case <-s.guard.ended:
	case <-ended:
		// Its last answer may still be on the way.
		timer := time.NewTimer(lastBytes)
		defer timer.Stop()
		select {
		case <-s.guard.ended:
		case <-timer.C:
		case <-s.ctx.Done():
		}
	}
	reason := s.guard.failure()
	if reason == nil || errors.Is(reason, io.EOF) {
		reason = errEnded
	}
	s.die(reason)
}

// errEnded is the end of a server that said no more.
var errEnded = errors.New("the server ended")

// die ends a server that went wrong by itself, and counts it. One that was not admitted
// yet is counted by whoever starts it.
func (s *server) die(reason error) {
	s.once.Do(func() {
		s.finish(reason)
		s.skill.mu.Lock()
		admitted := s.admitted
		s.skill.mu.Unlock()
		if admitted {
			s.skill.failed(s.epitaph("and was not started again"))
		}
		close(s.gone)
	})
	<-s.gone
}

// stop ends a server that is not needed any more. It returns when nothing is left.
func (s *server) stop(reason error) error {
	s.once.Do(func() {
		s.finish(reason)
		close(s.gone)
	})
	<-s.gone
	return s.stuck
}

// finish takes everything down. Whoever waits for an answer stops waiting at once.
func (s *server) finish(reason error) {
	s.reason = reason
	s.cancel()
	if s.guard != nil {
		_ = s.guard.Close() // a farewell that does not arrive changes nothing
	}
	if s.process != nil {
		if err := s.process.Stop(patience); err != nil {
			s.stuck = fmt.Errorf("end %s: %w", s.label, err)
		}
		<-s.heard
	}
	if s.session != nil {
		_ = s.session.Close() // it was closed above; this ends what the library has running
	}
}

// epitaph says how a server ended: when, how the process ended and what it said last. It
// is asked after the end.
func (s *server) epitaph(when string) error {
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
		s.skill.chatter.say(line)
	})
}
