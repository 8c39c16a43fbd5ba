// Package llm is a model's service for tests: an HTTP server that plays a script and
// speaks the streaming wires of all providers.
//
// It looks at a request as closely as the real service does, and answers what that would
// refuse with the same status and the same kind of body. What it accepts, it answers from
// the script; and it can answer badly in every way we have heard of, on every wire. Which
// wire a client speaks shows in the path that it asks for: one server serves them all.
// It needs no network and keeps requests in memory, for assertions: [Server.Requests].
//
// What a script says is in the comment of the package script. Start reading at [Parse]
// and [Server].
package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/llm/messages"
	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// maxBody is the largest body that is read. Wires take less.
const maxBody = 64 << 20

// A Server plays a script to any number of clients at once.
type Server struct {
	script  *Script
	wires   []script.Wire
	forgets bool

	mu       sync.Mutex
	root     string
	requests []Recorded
	count    int // of the requests, also if they are forgotten
	size     int
	attempts map[[sha256.Size]byte]int
}

// An Option changes what a [Server] does.
type Option func(*Server)

// Forgetting has a server count requests and not keep them, so that it can be asked
// without end and weighs nothing where memory is measured.
func Forgetting() Option { return func(s *Server) { s.forgets = true } }

var _ http.Handler = (*Server)(nil)

// New returns a server that plays script.
func New(script *Script, options ...Option) *Server {
	s := &Server{script: script, wires: wires(), attempts: make(map[[sha256.Size]byte]int)}
	for _, option := range options {
		option(s)
	}
	return s
}

// Serve listens on the loopback interface. The URL is the base URL for a client of
// Anthropic's; stop ends all connections and waits until nothing runs any more.
func (s *Server) Serve() (url string, stop func()) {
	server := httptest.NewServer(s)
	s.mu.Lock()
	s.root = server.URL
	s.mu.Unlock()
	return server.URL + "/v1", func() {
		server.CloseClientConnections() // else an answer without an end would be waited for
		server.Close()
	}
}

// Root is the address of a server that serves, without a path. [Env] leads a client of
// any provider there.
func (s *Server) Root() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.root
}

// Start is [New] and [Server.Serve] for a test, at the end of which the server stops.
func Start(t testing.TB, script *Script, options ...Option) (*Server, string) {
	t.Helper()
	s := New(script, options...)
	url, stop := s.Serve()
	t.Cleanup(stop)
	return s, url
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return // the client has left
	}
	for _, wire := range s.wires {
		if wire.Beside != nil && wire.Beside(w, r, body, s.script) {
			return
		}
	}
	sum := sha256.Sum256(body)
	id := hex.EncodeToString(sum[:12])
	p := s.take(r, body, sum)
	w.Header().Set("Request-Id", "req_"+id)
	if p.problem != nil {
		p.wire.Refuse(w, script.Failure{Status: p.problem.Status, Message: p.problem.Message}, id)
		return
	}
	p.reply.ID = id
	p.play(w, r)
}

// take looks at a request, finds its answer and writes both down. Only counting and
// writing down are done by one request at a time.
func (s *Server) take(r *http.Request, body []byte, sum [sha256.Size]byte) performance {
	p := performance{wire: &s.wires[0], problem: script.KindProblem(http.StatusNotFound, "Not found")}
	rec := s.heard(r, body)
	rec.Attempt = s.attempt(sum)
	for i := range s.wires {
		if s.wires[i].Takes(r) {
			p.wire = &s.wires[i]
			rec.Asked, p.problem = p.wire.Look(r, body, s.script)
			break
		}
		if words, is := s.wires[i].Misses(r); is {
			p.wire, p.problem = &s.wires[i], script.KindProblem(http.StatusNotFound, "%s", words)
		}
	}
	rec.Asked.Attempt = rec.Attempt
	if p.problem == nil {
		rec.Turn = rec.Asked.Turn
		p.reply = script.Reply{Model: rec.Asked.Model, Turn: rec.Asked.Turn}
		p.find(s.script, rec.Asked)
	}
	if p.problem != nil {
		rec.Problem, rec.Status = p.problem.Message, p.problem.Status
	} else {
		rec.Status = p.answer.Status()
	}
	if full := s.record(rec); full != nil {
		p.problem = full
	}
	return p
}

// attempt counts how often a body has arrived.
func (s *Server) attempt(sum [sha256.Size]byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts[sum]++
	return s.attempts[sum]
}

// Key is the API key that is right when the script names none.
const Key = script.Key

// A Script is a list of answers.
type Script = script.Script

// A Request is the body of a request on Anthropic's wire.
type Request = messages.Request

// Parse reads a script. Its name is in errors.
func Parse(name string, data []byte) (*Script, error) { return script.Parse(name, data) }
