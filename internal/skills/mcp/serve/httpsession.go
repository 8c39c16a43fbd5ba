package serve

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	wire "github.com/perstack-go/perstack/internal/skills/mcp/frame"
	"github.com/perstack-go/perstack/skill"
)

const (
	// maxSessions is how many clients can be connected.
	maxSessions = 16
	// idleTime is how long a session without an open request is kept.
	idleTime = 30 * time.Minute
)

// A session is one client with its own skill, and so its own todo list.
type session struct {
	id     string
	box    *skill.Toolbox
	server *mcp.Server
	stop   func()         // stops its calls
	posts  sync.WaitGroup // requests that are not answered yet

	// Guarded by sessions.mu:
	open  int       // requests
	since time.Time // when the last of them ended
	timer *time.Timer

	closed sync.Once
}

// sessions passes requests to the protocol library, each with the server of its session. The
// library does not end or answer the calls of a session that ends, so sessions are ended here.
type sessions struct {
	ctx     context.Context
	opened  func() skill.Skill
	opts    Options
	library *mcp.StreamableHTTPHandler

	inFlight inFlight

	mu   sync.Mutex
	all  map[string]*session
	over bool
}

// serverOf is the key of the server in the context of a request.
type serverOf struct{}

func newSessions(ctx context.Context, open func() skill.Skill, opts Options) *sessions {
	return &sessions{
		ctx: ctx, opened: open, opts: opts, all: make(map[string]*session),
		library: mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
			server, _ := r.Context().Value(serverOf{}).(*mcp.Server)
			return server
		}, &mcp.StreamableHTTPOptions{
			Logger:              slog.New(debugHandler{opts.Log.Handler()}),
			MaxRequestBodyBytes: wire.MaxBytes,
		}),
	}
}

func (s *sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ids := r.Header.Values("Mcp-Session-Id")
	switch {
	case r.Method != http.MethodPost && r.Method != http.MethodGet && r.Method != http.MethodDelete:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "there is only GET, POST and DELETE", http.StatusMethodNotAllowed)
		return
	case len(ids) > 1, len(ids) == 0 && r.Method != http.MethodPost:
		http.Error(w, "one Mcp-Session-Id is needed; a POST of initialize gives it", http.StatusBadRequest)
		return
	}
	if r.Method == http.MethodPost {
		done, ok := s.admit(w, r)
		if !ok {
			return
		}
		defer done()
	}
	var here *session
	if len(ids) == 0 {
		var err error
		if here, err = s.open(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		defer s.keepIfUsed(here)
	} else if here = s.enter(ids[0], r.Method); here == nil {
		// In the protocol, this status tells a client to begin a new session.
		http.Error(w, "there is no such session; it may have been idle for too long", http.StatusNotFound)
		return
	}
	defer s.leave(here, r.Method)
	if r.Method == http.MethodDelete {
		s.end(here)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	s.library.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), serverOf{}, here.server)))
}

// open begins a session with an open request.
func (s *sessions) open() (*session, error) {
	if err := s.endOldest(); err != nil {
		return nil, err
	}
	calls, stop := context.WithCancel(s.ctx)
	box, err := skill.NewToolbox(calls, []skill.Source{{Skill: s.opened(), Filter: s.opts.Filter, Served: true}}, s.opts.Log)
	if err != nil {
		stop()
		return nil, err
	}
	opts := s.opts
	opts.session = rand.Text()
	here := &session{id: opts.session, box: box, server: newServer(calls, box, opts), stop: stop, open: 1}
	here.timer = time.AfterFunc(idleTime, func() { s.expire(here) })
	here.timer.Stop()
	here.posts.Add(1)

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || len(s.all) >= maxSessions {
		stop()
		return nil, errors.Join(errFull, box.Close())
	}
	s.all[here.id] = here
	return here, nil
}

var errFull = fmt.Errorf("%d sessions are open, and no more are possible; end one of them", maxSessions)

// endOldest ends the session that has been idle for longest, if there are too many: many clients
// never end theirs.
func (s *sessions) endOldest() error {
	s.mu.Lock()
	var oldest *session
	for _, here := range s.all {
		if here.open == 0 && (oldest == nil || here.since.Before(oldest.since)) {
			oldest = here
		}
	}
	full := len(s.all) >= maxSessions
	s.mu.Unlock()
	switch {
	case !full:
		return nil
	case oldest == nil:
		return errFull
	}
	s.expire(oldest)
	return nil
}

// enter finds a session and counts the request, so that the session is not idle.
func (s *sessions) enter(id, method string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	here := s.all[id]
	if here != nil {
		here.open++
		here.timer.Stop()
		if method == http.MethodPost {
			here.posts.Add(1)
		}
	}
	return here
}

func (s *sessions) leave(here *session, method string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if method == http.MethodPost {
		here.posts.Done()
	}
	if here.open--; here.open == 0 && s.all[here.id] == here {
		here.since = time.Now()
		here.timer.Reset(idleTime)
	}
}

// keepIfUsed ends a session whose first request was not initialize, or that was ended by endAll.
func (s *sessions) keepIfUsed(here *session) {
	s.mu.Lock()
	used := s.all[here.id] == here
	s.mu.Unlock()
	for range here.server.Sessions() {
		if used {
			return
		}
	}
	s.end(here)
}

// expire ends a session if it is idle.
func (s *sessions) expire(here *session) {
	s.mu.Lock()
	idle := here.open == 0
	if idle {
		s.forget(here)
	}
	s.mu.Unlock()
	if idle {
		s.close(here)
	}
}

// end ends a session and its calls.
func (s *sessions) end(here *session) {
	s.mu.Lock()
	s.forget(here)
	s.mu.Unlock()
	s.close(here)
}

// forget is called with mu held.
func (s *sessions) forget(here *session) {
	here.timer.Stop()
	delete(s.all, here.id)
}

// close can be called twice. The session has been forgotten, so no more requests can come.
func (s *sessions) close(here *session) {
	here.stop()
	answered := make(chan struct{})
	go func() {
		here.posts.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(grace): // a client that does not read
	}
	for library := range here.server.Sessions() {
		_ = library.Close()
	}
	here.closed.Do(func() {
		if err := here.box.Close(); err != nil {
			s.opts.Log.Warn("a session did not end cleanly", "error", err)
		}
	})
}

// endAll ends every session; no other begins.
func (s *sessions) endAll() {
	s.mu.Lock()
	s.over = true
	rest := slices.Collect(maps.Values(s.all))
	s.mu.Unlock()
	var tasks sync.WaitGroup
	for _, here := range rest {
		tasks.Go(func() { s.end(here) })
	}
	tasks.Wait()
}
