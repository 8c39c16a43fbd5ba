package llm

import (
	"net/http"
	"slices"

	"github.com/perstack-go/perstack/internal/testkit/llm/messages"
	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// What a server keeps for assertions. A client that asks more often runs in circles.
const (
	maxRequests = 10_000
	maxRecorded = 1 << 30
)

// Recorded is a request as it arrived, and what became of it.
type Recorded struct {
	Host   string // to which it was addressed
	Path   string
	URI    string      // the path and the query, as they were written
	Header http.Header // without keys
	Raw    []byte

	KeySent  bool // it had something that proves who sends it
	KeyRight bool // and it is right on the wire of the path

	Wire    string       // name of the wire; "" if the path is of none
	Asked   script.Asked // as far as it can be read
	Body    *Request     // of Anthropic's wire; nil if it cannot be decoded
	Problem string       // why it was refused, or ""
	Status  int          // of the answer
	Turn    int          // which answer was asked for; 0 if it was refused
	Attempt int          // how often this body has arrived, with this time
}

// System is the text of the system prompt, by which the Experts of a job can be told apart.
func (r Recorded) System() string { return r.Asked.System }

// heard is a request, before anything became of it.
func (s *Server) heard(r *http.Request, body []byte) Recorded {
	rec := Recorded{Host: r.Host, Path: r.URL.Path, URI: r.RequestURI, Header: r.Header.Clone(), Raw: body}
	for _, wire := range s.wires { // a key is one on whatever wire it is sent
		sent, right := wire.Key(r, body, s.script)
		rec.KeySent = rec.KeySent || sent
		if rec.Wire == "" && wire.Takes(r) {
			rec.Wire, rec.KeyRight = wire.Name, right
		}
	}
	for _, name := range []string{"X-Api-Key", "Authorization", "X-Goog-Api-Key", "Api-Key", "X-Amz-Security-Token"} {
		rec.Header.Del(name)
	}
	return rec
}

// record writes a request down, while there is space.
func (s *Server) record(rec Recorded) *script.Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.forgets && (len(s.requests) >= maxRequests || s.size+len(rec.Raw) > maxRecorded) {
		return script.KindProblem(http.StatusBadRequest, "the scripted server has taken %d requests and takes no more", len(s.requests))
	}
	s.count++
	if !s.forgets {
		s.requests = append(s.requests, rec)
		s.size += len(rec.Raw)
	}
	return nil
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
		if r.Wire == "" || r.Wire == s.wires[0].Name {
			r.Body = messages.Read(r.Raw) // again: a test can change what it is given
		}
	}
	return out
}

// Count is how many requests arrived so far.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}
