package mcp

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/skills/mcp/frame"
)

// answerInitialize plays the beginning of a server, up to the result of the handshake.
func answerInitialize(w http.ResponseWriter, id string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`, id)
}

// idOf finds the id and the method of a message that the library wrote.
func idOf(t testing.TB, r *http.Request) (id, method string) {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	_, method, _ = strings.Cut(string(body), `"method":"`)
	method, _, _ = strings.Cut(method, `"`)
	return string(frame.ID(body)), method
}

func endless(w io.Writer, start, piece string) {
	fmt.Fprint(w, start)
	for range 64 << 20 / len(piece) { // far above the limit; the client leaves sooner
		if _, err := io.WriteString(w, piece); err != nil {
			return
		}
	}
}

// What goes wrong before a server is ready is told in one line that says what to do, and
// that repeats neither the headers nor the query, where people put keys.
func TestRemoteErrors(t *testing.T) {
	piece := strings.Repeat("x", 64<<10)
	bomb := gzipped(t, make([]byte, 20<<20))
	status := func(code int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			fmt.Fprint(w, "see "+queryCanary)
		}
	}
	for name, test := range map[string]struct {
		serve     http.HandlerFunc
		bare      bool   // the skill sends no token
		http, sse string // for mcpHttpSkill and mcpSseSkill; sse may be empty when it is the same
	}{
		"login": {
			serve: status(401, "WWW-Authenticate", `Bearer resource_metadata="https://auth.example/x"`),
			bare:  true,
			http:  "the server asks for a login (OAuth), which this version cannot do; pass a token with headers",
		},
		"more rights": {
			serve: status(403, "WWW-Authenticate", `Bearer error="insufficient_scope"`),
			bare:  true,
			http:  "the server asks for a login (OAuth), which this version cannot do; pass a token with headers",
		},
		"old key": {
			serve: status(401, "WWW-Authenticate", `Bearer error="invalid_token"`),
			http:  "the server refuses access (401 Unauthorized); check the token in headers",
		},
		"weak key": {
			serve: status(403, "WWW-Authenticate", `Bearer error="insufficient_scope"`),
			http:  "the server refuses access (403 Forbidden); check the token in headers",
		},
		"wrong key": {serve: status(401), http: "the server refuses access (401 Unauthorized); check the token in headers"},
		"forbidden": {serve: status(403), http: "the server refuses access (403 Forbidden); check the token in headers"},
		"nothing there": {
			serve: status(404),
			http:  `the server does not offer streamable HTTP there (404 Not Found); check the endpoint, or use type = "mcpSseSkill" if it speaks the older SSE`,
			sse:   "the server does not offer SSE there (404 Not Found); check the endpoint",
		},
		"wrong method": {
			serve: status(405),
			http:  `the server does not offer streamable HTTP there (405 Method Not Allowed); check the endpoint, or use type = "mcpSseSkill" if it speaks the older SSE`,
			sse:   "the server does not offer SSE there (405 Method Not Allowed); check the endpoint",
		},
		"broken":                 {serve: status(500), http: "the server answered 500 Internal Server Error"},
		"busy":                   {serve: status(429), http: "the server answered 429 Too Many Requests"},
		"odd":                    {serve: status(599), http: "the server answered 599"},
		"page":                   {serve: status(200, "Content-Type", "text/html; charset=utf-8"), http: "the server sent a web page: this is not the address of an MCP server; check the endpoint"},
		"text":                   {serve: status(200, "Content-Type", "text/plain"), http: "the server sent text/plain, which is not a message of the protocol; check the endpoint"},
		"no JSON":                {serve: status(200, "Content-Type", "application/json"), http: "the server sent what is not a message of the protocol; check the endpoint"},
		"compressed":             {serve: status(200, "Content-Type", "application/json", "Content-Encoding", "br"), http: "127.0.0.1 sent a compressed answer, which was not asked for"},
		"error stays":            {serve: rpcError(http.StatusBadRequest), http: "go away"},
		"error of a busy server": {serve: rpcError(http.StatusServiceUnavailable), http: "the server answered 503 Service Unavailable"},
		"moved away": {
			serve: status(307, "Location", "https://mcp.example.com/?key="+queryCanary),
			http:  " redirects to https://mcp.example.com, which is another server; give the URL where it ends, if you trust it",
		},
		"moved badly": {serve: status(302, "Location", "/mcp"), http: " redirects a POST so that it would become a GET; give the URL where it ends"},
		"moved for ever": {
			serve: status(308, "Location", "/mcp"),
			http:  " redirects more than 5 times",
		},
		"gzip bomb": {
			serve: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(bomb)
			},
			http: "127.0.0.1 sent a compressed answer, which was not asked for",
		},
		"endless JSON": {
			serve: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				endless(w, `{"jsonrpc":"2.0","id":1,"result":"`, piece)
			},
			http: "the answer of 127.0.0.1 is larger than 16777216 bytes",
		},
		"endless event": {
			serve: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				endless(w, "data: ", piece)
			},
			http: "SSE event exceeded",
		},
		"deep": {
			serve: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":`+strings.Repeat("[", 8<<20))
			},
			http: "the server sent what is not a message of the protocol; check the endpoint",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWeb(t, test.serve)
			for _, sse := range []bool{false, true} {
				want := test.http
				if sse && test.sse != "" {
					want = test.sse
				}
				r := remoteAt(t, w.URL+"/mcp?key="+queryCanary, sse)
				if test.bare {
					delete(r.Header, "Authorization")
				}
				_, _, err := reach(t.Context(), t, r, "", nil)
				wantError(t, remoteError(err), want)
			}
		})
	}
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// rpcError answers every message with an error of the protocol.
func rpcError(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"go away"}}`, frame.ID(body))
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("no error, want %q", want)
	case !strings.Contains(err.Error(), want):
		t.Errorf("got error %q, want %q", err, want)
	case strings.Contains(err.Error(), queryCanary), strings.Contains(err.Error(), headerCanary):
		t.Errorf("error %q repeats a key", err)
	}
}

type fixedNames map[string]string

func (f fixedNames) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr(f[strings.TrimSuffix(host, ".")])}, nil
}

// What the network or the policy does not let through.
func TestUnreachable(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains about us
	secure.StartTLS()
	t.Cleanup(secure.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	names := fixedNames{"mcp.example.com": "10.0.0.1"}
	for _, test := range []struct {
		endpoint string
		policy   egress.Policy
		want     string
	}{
		{"https://127.0.0.1/mcp", egress.Policy{}, "127.0.0.1 is not a public address; set allowPrivateEndpoint = true in the skill if the server is yours"},
		{"https://mcp.example.com/mcp", egress.Policy{Resolver: names}, "mcp.example.com (10.0.0.1) is not a public address; set allowPrivateEndpoint = true"},
		{"http://mcp.example.com/mcp", egress.Policy{Resolver: names, AllowPrivate: true}, "plain http is for this machine only"},
		{secure.URL, egress.Policy{AllowPrivate: true, RootCAs: x509.NewCertPool()}, "the certificate of the server is not accepted: "},
		{closed.URL, egress.Policy{AllowPrivate: true}, "cannot reach the server: dial tcp "},
		{strings.Replace(closed.URL, "http:", "https:", 1), egress.Policy{AllowPrivate: true}, "cannot reach the server: dial tcp "},
	} {
		endpoint := test.endpoint + "?key=" + queryCanary
		r := remoteAt(t, endpoint, true)
		test.policy.Origin, _ = url.Parse(endpoint)
		r.Client = egress.Client(test.policy)
		_, _, err := reach(t.Context(), t, r, "", nil)
		wantError(t, remoteError(err), test.want)
	}
}

// The older transport lets the server name the address of messages. Keys do not go to
// another one, and neither does the message.
func TestEndpointElsewhere(t *testing.T) {
	other := newWeb(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	for _, elsewhere := range []string{other.URL + "/message", "//" + strings.TrimPrefix(other.URL, "http://"), "https://mcp.example.com/", "http://169.254.169.254/", "file:///etc/passwd", "http://a b/"} {
		w := newWeb(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", elsewhere)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}))
		_, _, err := reach(t.Context(), t, remoteAt(t, w.URL, true), "", nil)
		if refused, ok := errors.AsType[*egress.Refusal](err); elsewhere != "http://a b/" && (!ok || refused.Kind != egress.OtherOrigin && refused.Kind != egress.BadOrigin) {
			t.Errorf("%s: got error %v, want a refusal", elsewhere, err)
		} else if err == nil {
			t.Errorf("%s was accepted", elsewhere)
		}
	}
	if got := other.requests(); len(got) != 0 {
		t.Errorf("the other server was sent %v", got[0].Header)
	}
}

// A message that did not arrive is not an answer of the server, and the session continues.
func TestUndelivered(t *testing.T) {
	var gone atomic.Bool
	whole := handlers()["http"]
	w := newWeb(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !gone.Load() {
			whole.ServeHTTP(w, r)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close()
	}))
	s, _, err := reach(t.Context(), t, remoteAt(t, w.URL+"?key="+queryCanary, false), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	gone.Store(true)
	_, err = s.ListTools(t.Context(), nil)
	wantError(t, err, "cannot reach the server: ")
	if answer, ok := errors.AsType[*jsonrpc.Error](err); ok {
		t.Errorf("looks like the answer %v", answer)
	}
	gone.Store(false)
	if _, err := s.ListTools(t.Context(), nil); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// Even with a client that goes everywhere, the headers of the skill go to its server only.
func TestHeadersStayHome(t *testing.T) {
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	home, other := newWeb(t, ok), newWeb(t, ok)
	r := remoteAt(t, home.URL, false)
	r.Client = &http.Client{}
	r.Client.Transport = http.DefaultTransport
	c, err := r.client(streamableHTTP, func() string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []*web{home, other} {
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL, http.NoBody)
		resp, err := c.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		got := w.requests()[0].Header
		if sent := got.Get("Authorization") != "" && got.Get("X-Team") != ""; sent != (w == home) {
			t.Errorf("sent %v to its own server: %v", got, w == home)
		}
	}
}

// Streams that are not those of a server of the older kind.
func TestBadStream(t *testing.T) {
	for stream, want := range map[string]string{
		"":                                    "the server ended the stream before it was ready: EOF",
		": nothing\n\n":                       "the server ended the stream before it was ready: EOF",
		"event: endpoint\ndata: /half":        "the server ended the stream before it was ready: EOF",
		"data: {\"jsonrpc\":\"2.0\"}\n\n":     "this is a stream of events, but not that of an MCP server",
		"event: endpoint\ndata: http://[\n\n": "the server wants messages at what is not a URL",
		"data: " + strings.Repeat("x", maxEvent) + "\n\n":            "the server sent an event of more than",
		strings.Repeat(": "+strings.Repeat("x", 1<<20)+"\n", 20):     "the server sent an event of more than",
		strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 20): "the server sent an event of more than",
	} {
		w := newWeb(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, stream)
		}))
		_, _, err := reach(t.Context(), t, remoteAt(t, w.URL, true), "", nil)
		wantError(t, remoteError(err), want)
	}
}

// A server that never answers is left when the time is over.
func TestSlowServer(t *testing.T) {
	for _, after := range []string{"", "headers"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		late := errors.New("time is over")
		w := newWeb(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && after == "" {
				w.WriteHeader(http.StatusMethodNotAllowed) // the older transport is the slow one
				return
			}
			if after == "headers" {
				w.Header().Set("Content-Type", "application/json")
				_ = http.NewResponseController(w).Flush()
			}
			cancel(late)
			<-r.Context().Done()
		}))
		_, _, err := reach(ctx, t, remoteAt(t, w.URL, true), lastHello, nil)
		if !errors.Is(err, late) && !errors.Is(err, context.Canceled) {
			t.Errorf("slow after %q: got error %v", after, err)
		}
	}
}

// The result of one call can be bad without the end of the connection.
func TestBadResult(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	for result, want := range map[string]string{
		`{"a":1,"a":2}`:          "a name is given twice",
		`{"a":` + deep + `}`:     "it is nested more than 128 deep",
		`{"a":"` + "\xff" + `"}`: "",
	} {
		w := newWeb(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			id, method := idOf(t, r)
			switch {
			case method == "initialize":
				answerInitialize(w, id)
			case r.Method == http.MethodPost && id != "":
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
			case r.Method == http.MethodPost:
				w.WriteHeader(http.StatusAccepted)
			default:
				w.WriteHeader(http.StatusMethodNotAllowed)
			}
		}))
		c, err := openHTTP(t.Context(), remoteAt(t, w.URL, false), noWarning)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		for i := 1; i <= 2; i++ {
			request, err := frame.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, i))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Write(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			_, err = c.Read(t.Context())
			bad, ok := errors.AsType[*frame.Error](err)
			if ok != (want != "") || ok && (!strings.Contains(bad.Message, want) || string(bad.Guess) != fmt.Sprint(i)) {
				t.Errorf("%.40q: got %v (%+v), want %q", result, err, bad, want)
			}
		}
	}
}

// The server's own stream is asked for again, from the place where it broke.
func TestListening(t *testing.T) { synctest.Test(t, testListening) }

func testListening(t *testing.T) {
	again := make(chan string, 10)
	var broke atomic.Bool
	remote := inMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, method := idOf(t, r)
		switch {
		case method == "initialize":
			w.Header().Set(sessionHeader, "session-1")
			answerInitialize(w, id)
		case r.Method == http.MethodPost && id != "":
			w.WriteHeader(http.StatusBadRequest)
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusAccepted)
		case r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "text/event-stream")
			if !broke.Swap(true) {
				fmt.Fprint(w, "\ufeffid: 7\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"notifications/tools/list_changed\"}\n\nid: 8\nevent: other\ndata: {\n\n: c\n\ndata: half")
				return
			}
			_ = http.NewResponseController(w).Flush()
			again <- r.Header.Get("Last-Event-ID") + " " + r.Header.Get(sessionHeader) + " " + r.Header.Get(versionHeader)
			<-r.Context().Done()
		}
	}))
	var h heard
	if _, _, err := reach(t.Context(), t, remote, "", h.options()); err != nil {
		t.Fatal(err)
	}
	wait(t, "list", h.changes, "changed")
	wait(t, "second stream", again, "8 session-1 2025-06-18")
}

func TestWithoutURLs(t *testing.T) {
	for text, want := range map[string]string{
		`Post "https://user:pw@a.example:1/b?key=c#d": refused`: `Post "https://a.example:1": refused`,
		"http://a.example and https://b.example/x.":             "http://a.example and https://b.example",
		"nothing": "nothing",
	} {
		if got := withoutURLs(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if remoteError(nil) != nil {
		t.Error("no error becomes one")
	}
	if err := fmt.Errorf("x: %w", sdk.ErrSessionMissing); !errors.Is(remoteError(err), sdk.ErrSessionMissing) {
		t.Error("what is not ours is changed")
	}
}

// Whatever a stream holds, its events are read to the end, and none is above the limit.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("event: endpoint\ndata: /x\n\nid: 1\r\ndata: a\r\ndata:b\r\n\r\n: c\n\nretry: 5\n\ndata\n\n"))
	f.Add([]byte("\ufeffdata: x\n\n\xff\xfe\n\ndata: half"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		e := newEvents(bytes.NewReader(stream))
		size := 0
		for {
			event, err := e.next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
				break
			}
			size += len(event.data) + len(event.name) + len(event.id)
		}
		if size > len(stream) {
			t.Errorf("%d bytes came out of %d", size, len(stream))
		}
	})
}
