package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

const (
	// maxBody is the largest body that the service takes.
	maxBody = 32 << 20

	// What a server keeps for assertions. A client that asks more often runs in circles.
	maxRequests = 10_000
	maxRecorded = 1 << 30
)

// A Server plays a script to any number of clients at once.
type Server struct {
	script  *Script
	forgets bool

	mu       sync.Mutex
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

// Recorded is a request as it arrived, and what became of it.
type Recorded struct {
	Host   string // to which it was addressed
	Path   string
	Header http.Header // without keys
	Raw    []byte

	KeySent  bool // it had an API key
	KeyRight bool // it had the right one

	Body    *Request // nil if it cannot be decoded
	Problem string   // why it was refused, or ""
	Status  int      // of the answer
	Turn    int      // which answer was asked for; 0 if it was refused
	Attempt int      // how often this body has arrived, with this time
}

// System is the text of the system prompt, by which the Experts of a job can be told apart.
func (r Recorded) System() string {
	if r.Body == nil {
		return ""
	}
	return r.Body.System.String()
}

var _ http.Handler = (*Server)(nil)

// New returns a server that plays script.
func New(script *Script, options ...Option) *Server {
	s := &Server{script: script, attempts: make(map[[sha256.Size]byte]int)}
	for _, option := range options {
		option(s)
	}
	return s
}

// Serve listens on the loopback interface. The URL is the base URL for a client; stop
// ends all connections and waits until nothing runs any more.
func (s *Server) Serve() (url string, stop func()) {
	server := httptest.NewServer(s)
	return server.URL + "/v1", func() {
		server.CloseClientConnections() // else an answer without an end would be waited for
		server.Close()
	}
}

// Start is [New] and [Server.Serve] for a test, at the end of which the server stops.
func Start(t testing.TB, script *Script, options ...Option) (*Server, string) {
	t.Helper()
	s := New(script, options...)
	url, stop := s.Serve()
	t.Cleanup(stop)
	return s, url
}

// Requests returns what arrived so far, in order of arrival; nothing if the server is
// [Forgetting].
func (s *Server) Requests() []Recorded {
	s.mu.Lock()
	out := slices.Clone(s.requests)
	s.mu.Unlock()
	for i := range out {
		r := &out[i]
		r.Header = r.Header.Clone()
		r.Body, _ = decode(r.Raw, true) // anew: a test may change what it is given
	}
	return out
}

// Count is how many requests arrived so far.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return // the client has left
	}
	sum := sha256.Sum256(raw)
	id := hex.EncodeToString(sum[:12])
	t, re, p := s.take(r, raw, sum)
	w.Header().Set("Request-Id", "req_"+id)
	if p != nil {
		refuse(w, failure{status: p.status, kind: kindOf(p.status), message: p.message}, id)
		return
	}
	re.id = "msg_" + id
	t.play(w, r, re)
}

// take looks at a request, finds its answer and writes both down. Only counting and
// writing down are done by one request at a time.
func (s *Server) take(r *http.Request, raw []byte, sum [sha256.Size]byte) (*turn, reply, *problem) {
	rec := Recorded{
		Host: r.Host, Path: r.URL.Path, Header: r.Header.Clone(), Raw: raw,
		KeySent:  r.Header.Get("X-Api-Key") != "",
		KeyRight: r.Header.Get("X-Api-Key") == s.script.key,
	}
	rec.Header.Del("X-Api-Key")
	rec.Header.Del("Authorization")
	req, p := s.look(r, raw)
	rec.Attempt = s.attempt(sum)
	var t *turn
	var re reply
	if p == nil {
		a := req.asked()
		a.attempt = rec.Attempt
		rec.Turn = a.turn
		re = reply{model: req.Model, turn: a.turn}
		t, p = s.script.find(a)
	}
	if p != nil {
		rec.Problem, rec.Status = p.message, p.status
	} else {
		t = t.within(req.MaxTokens)
		rec.Status = t.status()
	}
	if full := s.record(rec); full != nil {
		return nil, reply{}, full
	}
	return t, re, p
}

// attempt counts how often a body has arrived.
func (s *Server) attempt(sum [sha256.Size]byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts[sum]++
	return s.attempts[sum]
}

// record writes a request down, while there is room.
func (s *Server) record(rec Recorded) *problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.forgets && (len(s.requests) >= maxRequests || s.size+len(rec.Raw) > maxRecorded) {
		return invalid("the scripted server has taken %d requests and takes no more", len(s.requests))
	}
	s.count++
	if !s.forgets {
		s.requests = append(s.requests, rec)
		s.size += len(rec.Raw)
	}
	return nil
}

// look says what is wrong with a request, if anything is.
func (s *Server) look(r *http.Request, raw []byte) (*Request, *problem) {
	if p := s.script.checkHead(r); p != nil {
		return nil, p
	}
	if len(raw) > maxBody {
		return nil, &problem{http.StatusRequestEntityTooLarge, "Request exceeds the maximum size"}
	}
	req, p := decode(raw, r.Header.Get("Anthropic-Beta") != "")
	if p == nil {
		p = s.script.check(req)
	}
	return req, p
}
