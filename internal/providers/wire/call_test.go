package wire_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// What proves who sends a request is made for each, with sight of all that is sent.
func TestAuthorize(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != `signed POST /v1/chat {"a":1} yes` {
			t.Errorf("Authorization: %s", got)
		}
		sse(w, "data: 1\n\n")
	})
	c.Authorize = func(r *http.Request, body [][]byte) error {
		r.Header.Set("Authorization", "signed "+r.Method+" "+r.URL.Path+" "+string(bytes.Join(body, nil))+" "+r.Header.Get("X-More"))
		return nil
	}
	s, err := c.Post(t.Context(), "/chat", http.Header{"X-More": {"yes"}}, []byte(`{"a"`), []byte(`:1}`))
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// Without the proof nothing is sent. What failed is the configuration, unless the code that makes
// the proof knows better; a secret is not shown.
func TestUnauthorized(t *testing.T) {
	busy := &model.Error{Name: "TokenError", Message: "the token server is busy", Retryable: true}
	for name, tt := range map[string]struct {
		err  error
		want model.Error
	}{
		"configuration": {errors.New("no such account " + key), model.Error{Name: "ConfigurationError", Message: "acme: no such account [redacted]"}},
		"its own":       {busy, *busy},
	} {
		var asked atomic.Bool
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) { asked.Store(true) })
		c.Authorize = func(*http.Request, [][]byte) error { return tt.err }
		_, err := c.Post(t.Context(), "/chat", nil, []byte("{}"))
		if e := asError(t, err); e.Name != tt.want.Name || e.Message != tt.want.Message || e.Retryable != tt.want.Retryable {
			t.Errorf("%s: %+v", name, e)
		}
		if asked.Load() {
			t.Errorf("%s: the server was asked", name)
		}
	}
}

// A packed answer is not unpacked: it can be a bomb, and we did not ask for it.
func TestPackedAnswer(t *testing.T) {
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	_, _ = zip.Write(make([]byte, 1<<20))
	_ = zip.Close()
	for _, status := range []int{200, 500} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if got := r.Header.Get("Accept-Encoding"); got != "" && got != "identity" {
				t.Errorf("asks for %s", got)
			}
			w.Header().Set("Content-Encoding", "gzip")
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(status)
			_, _ = w.Write(bomb.Bytes())
		})
		_, err := c.Post(t.Context(), "/chat", nil, []byte("{}"))
		e := asError(t, err)
		if status == 200 && (e.Name != "InvalidAnswer" || !strings.Contains(e.Message, `packed as "gzip"`)) {
			t.Errorf("%+v", e)
		}
		if status == 500 && (e.StatusCode != status || !strings.HasSuffix(e.Message, "no reason given")) {
			t.Errorf("%+v", e)
		}
	}
}

// The connection of an answer that was read to its end serves the next call.
func TestConnectionIsUsedAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		last string // what follows the last event
		same bool
	}{
		"nothing": {"", true}, "a few words": {": bye\n\ndata: [DONE]\n\n", true}, "too many": {strings.Repeat(": more\n", 10_000), false},
	} {
		var ports []string
		heard := make(chan struct{})
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			ports = append(ports, r.RemoteAddr)
			sse(w, "data: end\n\n")
			w.(http.Flusher).Flush()
			<-heard // or the end would come along with what is read
			_, _ = io.WriteString(w, tt.last)
		})
		for range 2 {
			s, err := c.Post(t.Context(), "/chat", nil, []byte("{}"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Next(); err != nil {
				t.Fatal(err)
			}
			heard <- struct{}{}
			s.Finish()
			s.Close()
		}
		if (ports[0] == ports[1]) != tt.same {
			t.Errorf("%s: the calls came from %v", name, ports)
		}
	}
}

// One that continues without content is not waited for.
func TestConnectionThatStaysOpen(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sse(w, "data: end\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	s, err := c.Post(t.Context(), "/chat", nil, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	s.Finish() // or the test never ends
}

// The body may say how long to wait, and that a failure only looks final.
func TestProblemOfABody(t *testing.T) {
	for name, tt := range map[string]struct {
		status  int
		header  string
		problem wire.Problem
		retry   bool
		after   time.Duration
	}{
		"body":                {429, "", wire.Problem{RetryAfter: 34 * time.Second}, true, 34 * time.Second},
		"header wins":         {429, "7", wire.Problem{RetryAfter: 34 * time.Second}, true, 7 * time.Second},
		"nonsense":            {429, "", wire.Problem{RetryAfter: -time.Second}, true, 0},
		"a year":              {429, "", wire.Problem{RetryAfter: 9000 * time.Hour}, true, 24 * time.Hour},
		"final":               {429, "7", wire.Problem{Final: true, RetryAfter: time.Second}, false, 0},
		"only looks final":    {400, "", wire.Problem{Passing: true}, true, 0},
		"final and passing":   {400, "", wire.Problem{Passing: true, Final: true}, false, 0},
		"final without words": {400, "7", wire.Problem{}, false, 0},
	} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if tt.header != "" {
				w.Header().Set("Retry-After", tt.header)
			}
			w.WriteHeader(tt.status)
		})
		c.Explain = func(int, []byte) wire.Problem { return tt.problem }
		_, err := c.Post(t.Context(), "/chat", nil, []byte("{}"))
		if e := asError(t, err); e.Retryable != tt.retry || e.RetryAfter != tt.after {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
