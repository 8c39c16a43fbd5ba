package serve_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/skills/mcp/serve"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

const secretToken = "tk-4vQ8xLm2Rz7Wp0Ns"

// A site is a server over HTTP.
type site struct {
	url  string
	stop context.CancelCauseFunc
	done chan error
	log  *record
}

// A record is a log that can be read while it is written.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// startHTTP serves skills until the test ends. Whatever happens, the token is in no log.
func startHTTP(t *testing.T, open func() skill.Skill) *site {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	s := &site{stop: stop, done: make(chan error, 1), log: &record{}}
	ready := make(chan string, 1)
	go func() {
		s.done <- serve.HTTP(ctx, open, serve.HTTPOptions{
			Options: serve.Options{
				Name: "@perstack/base", Version: "1.2.3",
				Log: slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			},
			Token: secretToken,
			Ready: func(url string) { ready <- url },
		})
		close(s.done)
	}()
	select {
	case s.url = <-ready:
	case err := <-s.done:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop(nil)
		<-s.done
		if strings.Contains(s.log.String(), secretToken) {
			t.Errorf("the token is in the log:\n%s", s.log)
		}
	})
	return s
}

// withToken sends the token with every request.
type withToken struct{}

func (withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+secretToken)
	return http.DefaultTransport.RoundTrip(r)
}

// connect returns a session of the library's own client.
func (s *site) connect(t *testing.T) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.url, HTTPClient: &http.Client{Transport: withToken{}}, MaxRetries: -1,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// request makes one that is right in every respect but what change does to it. The answer
// is there when its head is.
func (s *site) request(t *testing.T, method, body string, change func(*http.Request)) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+secretToken)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if change != nil {
		change(r)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// send makes a request and reads the answer to its end. It may be called from any
// goroutine of a test.
func (s *site) send(t *testing.T, method, body string, change func(*http.Request)) (int, http.Header, string) {
	t.Helper()
	answer, err := s.request(t, method, body, change)
	if err != nil {
		t.Error(err)
		return 0, nil, ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Error(err)
	}
	return answer.StatusCode, answer.Header, string(text)
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// begin makes a session by hand, and returns its id.
func (s *site) begin(t *testing.T) string {
	t.Helper()
	code, header, text := s.send(t, "POST", initialize, nil)
	id := header.Get("Mcp-Session-Id")
	if code != 200 || id == "" {
		t.Fatalf("initialize: %d, session %q: %s", code, id, text)
	}
	return id
}

func in(id string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Mcp-Session-Id", id) }
}

// Only a client of this machine that knows the token is served; no client learns the token
// from a refusal, and no page learns whether its guess was right.
func TestHTTPGuard(t *testing.T) {
	s := startHTTP(t, func() skill.Skill { return &tools{} })
	port := s.url[strings.LastIndexByte(s.url, ':'):]
	port = port[:strings.IndexByte(port, '/')]
	header := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = values }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	both := func(all ...func(*http.Request)) func(*http.Request) {
		return func(r *http.Request) {
			for _, f := range all {
				f(r)
			}
		}
	}
	tests := []struct {
		name   string
		change func(*http.Request)
		code   int
	}{
		{"as it should be", nil, 200},
		{"localhost", host("localhost" + port), 200},
		{"the scheme in other letters", header("Authorization", "bearer "+secretToken), 200},
		{"our own origin", header("Origin", "http://127.0.0.1"+port), 200},

		{"no token", header("Authorization"), 401},
		{"wrong token", header("Authorization", "Bearer "+secretToken[:len(secretToken)-1]+"x"), 401},
		{"part of the token", header("Authorization", "Bearer "+secretToken[:8]), 401},
		{"more than the token", header("Authorization", "Bearer "+secretToken+"x"), 401},
		{"empty token", header("Authorization", "Bearer "), 401},
		{"another scheme", header("Authorization", "Basic "+secretToken), 401},
		{"two tokens", header("Authorization", "Bearer "+secretToken, "Bearer x"), 401},
		{"token in the address only", both(header("Authorization"), func(r *http.Request) { r.URL.RawQuery = "token=" + secretToken }), 401},

		{"DNS rebinding", host("evil.example" + port), 403},
		{"DNS rebinding, the port alone", host(port), 403},
		{"another port", host("127.0.0.1:1"), 403},
		{"no port", host("127.0.0.1"), 403},
		{"a name that begins like ours", host("127.0.0.1.evil.example" + port), 403},
		{"a name that ends like ours", host("evil.localhost" + port), 403},
		{"rebinding without a token", both(host("evil.example"+port), header("Authorization")), 403},

		{"a page", header("Origin", "https://evil.example"), 403},
		{"a page of another port", header("Origin", "http://127.0.0.1:1"), 403},
		{"a page over TLS", header("Origin", "https://127.0.0.1"+port), 403},
		{"a sandboxed page", header("Origin", "null"), 403},
		{"an empty origin", header("Origin", ""), 403},
		{"two origins", header("Origin", "http://127.0.0.1"+port, "https://evil.example"), 403},
		{"a page without a token", both(header("Origin", "https://evil.example"), header("Authorization")), 403},

		{"another path", func(r *http.Request) { r.URL.Path = "/" }, 404},
		{"another path without a token", both(func(r *http.Request) { r.URL.Path = "/" }, header("Authorization")), 401},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, got, text := s.send(t, "POST", initialize, tt.change)
			if code != tt.code {
				t.Errorf("status %d, want %d: %s", code, tt.code, text)
			}
			if code != 200 && (got.Get("Mcp-Session-Id") != "" || strings.Contains(text, "serverInfo")) {
				t.Errorf("a refusal that answers: %v %s", got, text)
			}
			if (code == 401) != (got.Get("WWW-Authenticate") == "Bearer") {
				t.Errorf("WWW-Authenticate is %q", got.Get("WWW-Authenticate"))
			}
			if strings.Contains(text, secretToken) || got.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("it says too much: %v %s", got, text)
			}
		})
	}
}

// What is no message of a session is refused, and the server continues.
func TestHTTPMethodsAndBodies(t *testing.T) {
	s := startHTTP(t, func() skill.Skill { return &tools{} })
	id := s.begin(t)
	long := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 16<<20) + `"}}`
	chunked := func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader(long)), -1 }
	tests := []struct {
		name, method, body string
		change             func(*http.Request)
		code               int
		want               string
	}{
		{"a method", "PUT", initialize, nil, 405, ""},
		{"a preflight", "OPTIONS", "", nil, 405, ""},
		{"a stream without a session", "GET", "", nil, 400, "Mcp-Session-Id"},
		{"the end of no session", "DELETE", "", nil, 400, "Mcp-Session-Id"},
		{"a session that does not exist", "POST", initialize, in("MADEUPBYSOMEBODY"), 404, "no such session"},
		{"two sessions", "POST", initialize, func(r *http.Request) { r.Header["Mcp-Session-Id"] = []string{id, id} }, 400, "Mcp-Session-Id"},
		{"too long", "POST", long, in(id), 413, "longer than 16777216"},
		{"too long in pieces", "POST", "", chunked, 413, "longer than 16777216"},
		{"empty", "POST", "", in(id), 400, ""},
		{"no JSON", "POST", "{", in(id), 400, `"code":-32700`},
		{"a name twice", "POST", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, in(id), 400, "twice"},
		{"too deep", "POST", `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}", in(id), 400, "deep"},
		{"a batch", "POST", "[" + initialize + "]", nil, 400, "batches are not accepted"},
		{"another type", "POST", initialize, func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415, ""},
		{"a call before initialize", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`, nil, 200, `"error"`},
		{"a method that is not offered", "POST", `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`, in(id), 200, `"code":-32601`},
		{"after all that", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1}}}`, in(id), 200, `{\"a\":1}`},
	}
	for _, tt := range tests {
		code, _, text := s.send(t, tt.method, tt.body, tt.change)
		if code != tt.code || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %d %s, want %d %s", tt.name, code, text, tt.code, tt.want)
		}
	}
}

// Each session has a skill of its own: what one client notes down, no other sees.
func TestHTTPSessionsAreSeparate(t *testing.T) {
	s := startHTTP(t, func() skill.Skill { _, own := fixture(t); return own })
	todo := func(session *mcp.ClientSession, args string) string {
		t.Helper()
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "todo", Arguments: rawjson.Value(args)})
		if err != nil {
			t.Fatal(err)
		}
		return result.Content[0].(*mcp.TextContent).Text
	}
	one, two := s.connect(t), s.connect(t)
	if one.ID() == two.ID() || one.ID() == "" {
		t.Fatalf("sessions %q and %q", one.ID(), two.ID())
	}
	todo(one, `{"newTodos":["mine"]}`)
	if got := todo(two, `{"newTodos":["yours"]}`); strings.Contains(got, "mine") || !strings.Contains(got, "yours") {
		t.Errorf("the second session sees %s", got)
	}
	if got := todo(one, `{}`); !strings.Contains(got, "mine") || strings.Contains(got, "yours") {
		t.Errorf("the first session sees %s", got)
	}
	// An ended session is gone, and its client is told so.
	if err := one.Close(); err != nil {
		t.Error(err)
	}
	if code, _, text := s.send(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, in(one.ID())); code != 404 {
		t.Errorf("an ended session answers: %d %s", code, text)
	}
	if got := todo(two, `{}`); !strings.Contains(got, "yours") {
		t.Errorf("the other one sees %s", got)
	}
}

// A client that ends its session ends the calls that are under way in it.
func TestHTTPDeleteStopsCalls(t *testing.T) {
	own := &tools{begun: make(chan string, 1)}
	s := startHTTP(t, func() skill.Skill { return own })
	id := s.begin(t)
	answered := make(chan string, 1)
	go func() {
		_, _, text := s.send(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`, in(id))
		answered <- text
	}()
	<-own.begun
	if code, _, text := s.send(t, "DELETE", "", in(id)); code != 204 {
		t.Errorf("DELETE: %d %s", code, text)
	}
	if text := <-answered; !strings.Contains(text, "stopped") {
		t.Errorf("the call was answered with %q", text)
	}
	own.mu.Lock()
	defer own.mu.Unlock()
	if own.closed != 1 || len(own.stopped) != 1 {
		t.Errorf("closed %d times, stopped %q", own.closed, own.stopped)
	}
}

// When the server is told to end, calls are stopped and answered, streams end, and every
// skill is closed.
func TestHTTPEnds(t *testing.T) {
	begun := make(chan string, 1)
	var all []*tools
	s := startHTTP(t, func() skill.Skill {
		all = append(all, &tools{begun: begun})
		return all[len(all)-1]
	})
	id := s.begin(t)
	stream, err := s.request(t, "GET", "", in(id))
	if err != nil || stream.StatusCode != http.StatusOK {
		t.Fatalf("the stream for news: %+v, %v", stream, err)
	}
	defer stream.Body.Close()
	answered := make(chan string, 1)
	go func() {
		_, _, text := s.send(t, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`, in(id))
		answered <- text
	}()
	<-begun
	reason := errors.New("told to")
	s.stop(reason)
	if text := <-answered; !strings.Contains(text, "stopped") {
		t.Errorf("the call was answered with %q", text)
	}
	if _, err := io.ReadAll(stream.Body); err != nil {
		t.Errorf("the stream did not end well: %v", err)
	}
	if err := <-s.done; !errors.Is(err, reason) {
		t.Errorf("it ended with %v", err)
	}
	for i, own := range all {
		if own.closed != 1 {
			t.Errorf("skill %d of %d was closed %d times", i, len(all), own.closed)
		}
	}
}

// Sixteen clients are served. One more takes the place of the one that was idle for
// longest, and is refused if none is.
func TestHTTPSessionsAreBounded(t *testing.T) {
	begun := make(chan string, 16)
	s := startHTTP(t, func() skill.Skill { return &tools{begun: begun} })
	var ids []string
	for range 17 {
		ids = append(ids, s.begin(t))
	}
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for i, id := range ids {
		code, _, _ := s.send(t, "POST", ping, in(id))
		if want := map[bool]int{true: 404, false: 200}[i == 0]; code != want {
			t.Errorf("session %d: status %d, want %d", i, code, want)
		}
	}
	var calls sync.WaitGroup
	for _, id := range ids[1:] {
		calls.Go(func() {
			s.send(t, "POST", `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait"}}`, in(id))
		})
		<-begun
	}
	if code, _, text := s.send(t, "POST", initialize, nil); code != 503 || !strings.Contains(text, "16 sessions") {
		t.Errorf("one too many: %d %s", code, text)
	}
	s.stop(nil)
	calls.Wait()
}

// Progress and parts of all kinds come through, and secrets do not.
func TestHTTPResults(t *testing.T) {
	s := startHTTP(t, func() skill.Skill { return &tools{} })
	notes := make(chan string, 2)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { notes <- r.Params.Message },
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url, HTTPClient: &http.Client{Transport: withToken{}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	params := &mcp.CallToolParams{Name: "note"}
	params.SetProgressToken("p")
	if _, err := session.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	if got := <-notes + ", " + <-notes; got != "half done, nearly done" {
		t.Errorf("progress: %s", got)
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "parts"})
	if err != nil {
		t.Fatal(err)
	}
	want := []event.PartType{event.TextPart, event.ImageInlinePart, event.FileInlinePart}
	if got := fromContents(result.Content); len(got) != len(want) || got[1].Data != "aW1hZ2U=" || got[2].MIMEType != "application/pdf" {
		t.Errorf("parts: %+v", got)
	}
}
