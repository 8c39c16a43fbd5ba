package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/internal/egress"
)

// realServer is a server of the library with one tool for each thing that a server does.
func realServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "real", Version: "1"}, nil)
	type text struct {
		Text string `json:"text"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo"}, func(_ context.Context, _ *sdk.CallToolRequest, in text) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Text}}}, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "progress"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Message: "half"})
		return &sdk.CallToolResult{}, nil, err
	})
	sdk.AddTool(s, &sdk.Tool{Name: "log"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		err := r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "error", Data: "noise"}) //nolint:staticcheck // older versions have it
		return &sdk.CallToolResult{}, nil, err
	})
	sdk.AddTool(s, &sdk.Tool{Name: "grow"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		sdk.AddTool(s, &sdk.Tool{Name: "new"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return nil, nil, nil
		})
		return &sdk.CallToolResult{}, nil, nil
	})
	return s
}

// handlers are the ways in which a real server is reached.
func handlers() map[string]http.Handler {
	serve := func() func(*http.Request) *sdk.Server {
		s := realServer()
		return func(*http.Request) *sdk.Server { return s }
	}
	return map[string]http.Handler{
		"http":      sdk.NewStreamableHTTPHandler(serve(), nil),
		"json":      sdk.NewStreamableHTTPHandler(serve(), &sdk.StreamableHTTPOptions{JSONResponse: true}),
		"stateless": sdk.NewStreamableHTTPHandler(serve(), &sdk.StreamableHTTPOptions{Stateless: true}),
		"sse":       sdk.NewSSEHandler(serve(), nil),
	}
}

// A web is a real web server on this machine that remembers what it was asked.
type web struct {
	*httptest.Server
	mu   sync.Mutex
	seen []*http.Request
}

func newWeb(t testing.TB, h http.Handler) *web {
	t.Helper()
	w := &web{}
	w.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.seen = append(w.seen, r.Clone(context.WithoutCancel(r.Context())))
		w.mu.Unlock()
		h.ServeHTTP(out, r)
	}))
	t.Cleanup(func() {
		_ = w.Config.Close() // streams do not end by themselves; CloseClientConnections can take five seconds
		w.Close()
	})
	return w
}

func (w *web) requests() []*http.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

const (
	headerCanary = "canary-of-the-header"
	queryCanary  = "canary-of-the-query"
)

// remoteAt is a skill's view of a server on this machine.
func remoteAt(t testing.TB, endpoint string, sse bool) *Remote {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return &Remote{
		Endpoint: endpoint, SSE: sse,
		Client: egress.Client(egress.Policy{Origin: u, AllowPrivate: true}),
		Header: map[string]string{"Authorization": "Bearer " + headerCanary, "X-Team": headerCanary},
	}
}

func noWarning(string, error) {}

// covered hides what a connection can do beside the interface, as the guard does.
type covered struct{ sdk.Connection }

type coveredTransport struct{ sdk.Transport }

func (c coveredTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	inner, err := c.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return covered{inner}, nil
}

// connecting makes a transport of a function.
type connecting func(context.Context) (sdk.Connection, error)

func (c connecting) Connect(ctx context.Context) (sdk.Connection, error) { return c(ctx) }

// reach connects with the first transport that the server offers.
func reach(ctx context.Context, t testing.TB, r *Remote, askFor string, o *sdk.ClientOptions) (session *sdk.ClientSession, name string, err error) {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o)
	for _, way := range r.transports(noWarning) {
		if way.version != "" && (askFor == "" || askFor > way.version) {
			askFor = way.version
		}
		session, err = client.Connect(ctx, coveredTransport{connecting(way.connect)}, &sdk.ClientSessionOptions{ProtocolVersion: askFor})
		if err == nil {
			t.Cleanup(func() { _ = session.Close() })
			return session, way.name, nil
		}
		if !isNotOffered(err) {
			break
		}
	}
	return nil, "", err
}

// heard collects what a server says on its own.
type heard struct{ progress, logs, changes chan string }

func (h *heard) options() *sdk.ClientOptions {
	h.progress, h.logs, h.changes = make(chan string, 10), make(chan string, 10), make(chan string, 10)
	return &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { h.progress <- r.Params.Message },
		LoggingMessageHandler:       func(_ context.Context, r *sdk.LoggingMessageRequest) { h.logs <- fmt.Sprint(r.Params.Data) },
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { h.changes <- "changed" },
	}
}

func wait(t *testing.T, what string, from <-chan string, want string) {
	t.Helper()
	select {
	case got := <-from:
		if got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	case <-t.Context().Done():
		t.Errorf("%s: nothing came", what)
	}
}

// The first version of the protocol without a handshake and without a stream of the
// server's own messages.
const noListening = "2026-07-28"

// Each transport with each version of the protocol: tools, results, progress, logs, and
// lists that change. Every request carries the headers of the skill, and the version as
// soon as it is known.
func TestRemoteServers(t *testing.T) {
	for _, version := range sdk.SupportedProtocolVersions() {
		if testing.Short() && version != lastHello && version != noListening {
			continue
		}
		for kind := range handlers() {
			t.Run(version+" "+kind, func(t *testing.T) {
				w := newWeb(t, handlers()[kind])
				var h heard
				s, name, err := reach(t.Context(), t, remoteAt(t, w.URL+"/mcp?key="+queryCanary, true), version, h.options())
				if err != nil {
					t.Fatal(err)
				}
				if want := map[bool]string{true: olderSSE, false: streamableHTTP}[kind == "sse"]; name != want {
					t.Errorf("connected by %s, want %s", name, want)
				}
				useServer(t, s, &h, kind)
				agreed := s.InitializeResult().ProtocolVersion
				if version < noListening && agreed != version || version == noListening && kind == "stateless" && agreed != version {
					t.Errorf("agreed on %s, want %s", agreed, version)
				}
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
				checkRequests(t, w, kind, agreed)
			})
		}
	}
}

func useServer(t *testing.T, s *sdk.ClientSession, h *heard, kind string) {
	t.Helper()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 4 {
		t.Fatalf("listed %v, %v", list, err)
	}
	for _, text := range []string{"hello", strings.Repeat("é", 100_000)} {
		result, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "echo", Arguments: map[string]any{"text": text}})
		if err != nil {
			t.Fatal(err)
		}
		if got := result.Content[0].(*sdk.TextContent).Text; got != text {
			t.Errorf("echoed %d bytes, want %d", len(got), len(text))
		}
	}
	if kind == "stateless" || kind == "json" && s.InitializeResult().ProtocolVersion >= noListening {
		return // such a server says nothing on its own
	}
	if err := s.SetLoggingLevel(t.Context(), &sdk.SetLoggingLevelParams{Level: "debug"}); err != nil { //nolint:staticcheck // older versions have it
		t.Error(err)
	}
	for _, tool := range []string{"progress", "log", "grow"} {
		p := &sdk.CallToolParams{Name: tool, Arguments: map[string]any{}}
		p.SetProgressToken("token")
		if r, err := s.CallTool(t.Context(), p); err != nil || r.IsError {
			t.Fatalf("%s: %v, %v", tool, r, err)
		}
	}
	wait(t, "progress", h.progress, "half")
	wait(t, "log", h.logs, "noise")
	wait(t, "list", h.changes, "changed")
}

func checkRequests(t *testing.T, w *web, kind, agreed string) {
	t.Helper()
	var methods []string
	versions := 0
	for _, r := range w.requests() {
		methods = append(methods, r.Method)
		if r.Header.Get("Authorization") != "Bearer "+headerCanary || r.Header.Get("X-Team") != headerCanary {
			t.Errorf("%s %s came without the headers of the skill: %v", r.Method, r.URL, r.Header)
		}
		if !strings.HasPrefix(r.UserAgent(), "perstack/") {
			t.Errorf("came as %q", r.UserAgent())
		}
		if r.Header.Get(versionHeader) == agreed {
			versions++
		}
	}
	// Before it is agreed on: at most one try with the newest, and the request that agrees.
	if kind != "sse" && versions < len(methods)-2 {
		t.Errorf("%d of %d requests name the version %s", versions, len(methods), agreed)
	}
	if (kind == "http" || kind == "json") && agreed < noListening && (!slices.Contains(methods, "GET") || methods[len(methods)-1] != "DELETE") {
		t.Errorf("requests were %v, want one that listens and a farewell", methods)
	}
}

// mcpSseSkill falls forward to the newer transport, and back to the older; mcpHttpSkill
// says what to do when a server has only the older.
func TestFallForward(t *testing.T) {
	all := handlers()
	for _, test := range []struct {
		kind string
		sse  bool
		want string
		hint string
	}{
		{"http", true, streamableHTTP, ""},
		{"stateless", true, streamableHTTP, ""},
		{"sse", true, olderSSE, ""},
		{"http", false, streamableHTTP, ""},
		{"sse", false, "", `use type = "mcpSseSkill"`},
	} {
		w := newWeb(t, all[test.kind])
		_, name, err := reach(t.Context(), t, remoteAt(t, w.URL, test.sse), "", nil)
		if name != test.want || (err == nil) != (test.hint == "") {
			t.Errorf("%s: connected by %q, %v; want %q", test.kind, name, err, test.want)
		}
		if err != nil && !strings.Contains(remoteError(err).Error(), test.hint) {
			t.Errorf("%s: error is %q, want %q in it", test.kind, remoteError(err), test.hint)
		}
	}
}

// A connection stays open after the time limit of the handshake.
func TestOutlivesHandshake(t *testing.T) {
	for kind, h := range handlers() {
		ctx, cancel := context.WithCancel(t.Context())
		s, _, err := reach(ctx, t, remoteAt(t, newWeb(t, h).URL, true), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, err := s.ListTools(t.Context(), nil); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// A server that was started again does not know the session. The connection ends, and a
// new one works.
func TestSessionLost(t *testing.T) {
	var mu sync.Mutex
	current := handlers()["http"]
	w := newWeb(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		h := current
		mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	r := remoteAt(t, w.URL, false)
	s, _, err := reach(t.Context(), t, r, lastHello, nil)
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	current = handlers()["http"]
	mu.Unlock()
	if _, err := s.ListTools(t.Context(), nil); !errors.Is(err, sdk.ErrSessionMissing) {
		t.Errorf("got error %v, want that the session is gone", err)
	}
	_ = s.Wait() // it ends by itself
	again, _, err := reach(t.Context(), t, r, lastHello, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.ListTools(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
