package wire_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

const key = `sk-very"secret-key`

// serve returns a client of a server that answers in one way.
func serve(t *testing.T, handler http.HandlerFunc) *wire.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &wire.Client{
		Provider: "acme",
		BaseURL:  server.URL + "/v1/",
		Header:   http.Header{"X-Api-Key": {key}},
		Secrets:  []string{key},
		HTTP:     wire.NewHTTPClient(nil),
		Explain:  func(_ int, body []byte) wire.Problem { return wire.Problem{Message: string(body)} },
	}
}

func sse(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	io.WriteString(w, text)
}

func asError(t *testing.T, err error) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v (%T), want a *model.Error", err, err)
	}
	if strings.Contains(e.Message, key) || strings.Contains(e.Message, `sk-very\"secret-key`) {
		t.Errorf("the key is in the error: %s", e.Message)
	}
	return e
}

func TestPostSendsPiecesAsOneBody(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != `{"a":1,"b":2}` || r.ContentLength != int64(len(body)) {
			t.Errorf("body %s of length %d", body, r.ContentLength)
		}
		if r.URL.Path != "/v1/messages" || r.Header.Get("X-Api-Key") != key || r.Header.Get("X-More") != "yes" {
			t.Errorf("path %s, header %v", r.URL.Path, r.Header)
		}
		sse(w, "data: 1\n\n")
	})
	s, err := c.Post(t.Context(), "/messages", http.Header{"x-more": {"yes"}}, []byte(`{"a":1`), nil, []byte(`,"b":`), []byte(`2}`))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if e, err := s.Next(); err != nil || string(e.Data) != "1" {
		t.Errorf("%q, %v", e.Data, err)
	}
	if _, err := s.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var visits atomic.Int32
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
		defer other.Close()
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, strings.Replace(other.URL, "://", "://user:password@", 1)+"/steal?key="+key, status)
		})
		c.HTTP = &http.Client{} // one that would follow
		_, err := c.Post(t.Context(), "/messages", nil, []byte("{}"))
		e := asError(t, err)
		if e.Retryable || e.StatusCode != status || !strings.Contains(e.Message, strings.TrimPrefix(other.URL, "http://")) {
			t.Errorf("%+v", e)
		}
		if strings.Contains(e.Message, "password") || strings.Contains(e.Message, "steal") {
			t.Errorf("more than the host is in %q", e.Message)
		}
		if visits.Load() != 0 {
			t.Errorf("%d: the other server was asked", status)
		}
	}
}

func TestStatusClasses(t *testing.T) {
	date := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for _, test := range []struct {
		status    int
		header    http.Header
		retryable bool
		atLeast   time.Duration
		atMost    time.Duration
	}{
		{status: 400}, {status: 401}, {status: 403}, {status: 404}, {status: 413}, {status: 422},
		{status: 408, retryable: true}, {status: 409, retryable: true}, {status: 429, retryable: true},
		{status: 500, retryable: true}, {status: 503, retryable: true}, {status: 529, retryable: true},
		{status: 429, header: http.Header{"Retry-After": {"7"}}, retryable: true, atLeast: 7 * time.Second, atMost: 7 * time.Second},
		{status: 429, header: http.Header{"Retry-After": {"7"}, "Retry-After-Ms": {"250"}}, retryable: true, atLeast: 250 * time.Millisecond, atMost: 250 * time.Millisecond},
		{status: 503, header: http.Header{"Retry-After": {date}}, retryable: true, atLeast: 50 * time.Minute, atMost: time.Hour},
		{status: 429, header: http.Header{"Retry-After": {"1e300"}}, retryable: true, atLeast: 24 * time.Hour, atMost: 24 * time.Hour},
		{status: 429, header: http.Header{"Retry-After": {"NaN"}}, retryable: true},
		{status: 429, header: http.Header{"Retry-After": {"-5"}}, retryable: true},
		{status: 429, header: http.Header{"Retry-After": {"soon"}}, retryable: true},
		{status: 500, header: http.Header{"X-Should-Retry": {"false"}}},
	} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			for name, values := range test.header {
				w.Header()[name] = values
			}
			w.WriteHeader(test.status)
			io.WriteString(w, `nothing for `+key+` or sk-very\"secret-key`)
		})
		_, err := c.Post(t.Context(), "/", nil)
		e := asError(t, err)
		if e.Name != "AI_APICallError" || e.StatusCode != test.status || e.Retryable != test.retryable {
			t.Errorf("%d %v: %+v", test.status, test.header, e)
		}
		if e.RetryAfter < test.atLeast || e.RetryAfter > test.atMost {
			t.Errorf("%d %v: retry after %v", test.status, test.header, e.RetryAfter)
		}
		if !strings.Contains(e.Message, "nothing for [redacted] or [redacted]") {
			t.Errorf("message %q", e.Message)
		}
	}
}

func TestFinalProblemIsNotRetried(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	c.Explain = func(int, []byte) wire.Problem { return wire.Problem{Message: "quota", Final: true} }
	_, err := c.Post(t.Context(), "/", nil)
	if e := asError(t, err); e.Retryable {
		t.Errorf("%+v", e)
	}
}

func TestErrorBodyIsBounded(t *testing.T) {
	var seen int
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		for range 4096 {
			if _, err := io.WriteString(w, strings.Repeat("x", 1024)); err != nil {
				return
			}
		}
	})
	c.Explain = func(_ int, body []byte) wire.Problem {
		seen = len(body)
		return wire.Problem{Message: string(body)}
	}
	_, err := c.Post(t.Context(), "/", nil)
	if e := asError(t, err); seen != 64<<10 || len(e.Message) > 3000 {
		t.Errorf("%d bytes read, message of %d", seen, len(e.Message))
	}
}

func TestWrongContentType(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<h1>Welcome to the hotel</h1>")
	})
	_, err := c.Post(t.Context(), "/", nil)
	if e := asError(t, err); e.Name != "InvalidAnswer" || e.Retryable || !strings.Contains(e.Message, "text/html") {
		t.Errorf("%+v", e)
	}
}

func TestNoConnection(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	c := &wire.Client{Provider: "acme", BaseURL: server.URL, Secrets: []string{key}, HTTP: wire.NewHTTPClient(nil)}
	_, err := c.Post(t.Context(), "/", nil)
	if e := asError(t, err); e.Name != "AI_APICallError" || !e.Retryable || e.StatusCode != 0 || !strings.Contains(e.Message, "cannot connect to acme") {
		t.Errorf("%+v", e)
	}
}

func TestTransportErrorShowsNoAddress(t *testing.T) {
	c := &wire.Client{Provider: "acme", BaseURL: "https://example.com", HTTP: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		return nil, errors.New(`proxy "http://me:pass@proxy.local:80/x?token=1" refused`)
	})}}
	_, err := c.Post(t.Context(), "/", nil)
	if e := asError(t, err); !strings.HasSuffix(e.Message, `proxy "http://proxy.local:80" refused`) {
		t.Errorf("%+v", e)
	}
}

func TestCheck(t *testing.T) {
	for url, ok := range map[string]bool{
		"https://api.example.com/v1": true, "http://127.0.0.1:8080": true, "http://localhost/v1": true, "http://[::1]:1": true,
		"http://api.example.com": false, "http://10.0.0.1": false, "https://u:p@example.com": false, "https://example.com?key=1": false,
		"": false, "example.com": false, "ftp://example.com": false, "http://localhost.example.com": false, "https://": false, "://": false,
	} {
		c := wire.Client{Provider: "acme", BaseURL: url}
		err := c.Check()
		if (err == nil) != ok {
			t.Errorf("%s: %v", url, err)
		}
		if err != nil && strings.Contains(err.Error(), "u:p") {
			t.Errorf("%v", err)
		}
	}
}

// Plain http leads elsewhere only without anything that may be a key, and on the user's
// word.
func TestCheckAllowsHTTP(t *testing.T) {
	proof := func(*http.Request, [][]byte) error { return nil }
	for name, tt := range map[string]struct {
		client wire.Client
		want   string // of the error
	}{
		"it was not said": {wire.Client{}, "only a server on this machine"},
		"nothing":         {wire.Client{AllowHTTP: true, Header: http.Header{}}, ""},
		"a header":        {wire.Client{AllowHTTP: true, Header: http.Header{"X-Team": {"a"}}}, "remove the headers"},
		"a secret":        {wire.Client{AllowHTTP: true, Secrets: []string{key}}, "which may hold a key"},
		"a proof":         {wire.Client{AllowHTTP: true, Authorize: proof}, "which may hold a key"},
		"another scheme":  {wire.Client{AllowHTTP: true, BaseURL: "ftp://10.0.0.1"}, "is not https"},
	} {
		c := tt.client
		c.Provider, c.BaseURL = "acme", cmp.Or(c.BaseURL, "http://10.0.0.1:11434")
		if err := c.Check(); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := wire.Client{Provider: "acme", BaseURL: "http://localhost:1", AllowHTTP: true, Header: http.Header{"X-Team": {"a"}}}
	if err := c.Check(); err != nil {
		t.Errorf("on this machine: %v", err)
	}
}

// A hint names the variable that the key came from, and begins where the provider ended
// a sentence.
func TestHints(t *testing.T) {
	own := map[int]string{401: "", 403: "ask the owner"}
	for _, tt := range []struct {
		variable string
		hints    map[int]string
		status   int
		problem  wire.Problem
		want     string
	}{
		{"", nil, 401, wire.Problem{Message: "bad key."}, "bad key; check the API key"},
		{"ACME_KEY", nil, 401, wire.Problem{Message: "bad key."}, "bad key; check ACME_KEY"},
		{"ACME_KEY", nil, 403, wire.Problem{}, "no reason given; check ACME_KEY, and what the account may do"},
		{"ACME_KEY", nil, 400, wire.Problem{Message: "bad key. ", BadKey: true}, "bad key; check ACME_KEY"},
		{"ACME_KEY", nil, 400, wire.Problem{Message: "bad."}, "bad."},
		{"ACME_KEY", own, 401, wire.Problem{Message: "bad."}, "bad."},
		{"ACME_KEY", own, 403, wire.Problem{Message: "bad."}, "bad; ask the owner"},
		{"", own, 404, wire.Problem{Message: "bad."}, "bad; check the model's name and the base URL"},
	} {
		cfg := wire.Config{Provider: "acme", Model: "m", KeyVariable: tt.variable, Client: wire.Client{HTTP: &http.Client{}, Hints: tt.hints}}
		if err := cfg.Begin("", "https://example.com"); err != nil {
			t.Fatal(err)
		}
		if e := cfg.Client.Failure(tt.status, tt.problem); !strings.HasSuffix(e.Message, ": "+tt.want) || e.StatusCode != tt.status {
			t.Errorf("%+v: %+v", tt, e)
		}
	}
}

func TestCancelledContext(t *testing.T) {
	begun := make(chan struct{})
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		sse(w, "data: 1\n\n")
		http.NewResponseController(w).Flush()
		close(begun)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	s, err := c.Post(ctx, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Next(); err != nil {
		t.Fatal(err)
	}
	<-begun
	stop := errors.New("stop")
	cancel(stop)
	if _, err := s.Next(); !errors.Is(err, stop) {
		t.Errorf("mid-stream: %v", err)
	}
	if _, err := c.Post(ctx, "/", nil); !errors.Is(err, stop) {
		t.Errorf("before: %v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
