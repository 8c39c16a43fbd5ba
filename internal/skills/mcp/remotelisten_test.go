package mcp

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/perstack-go/perstack/internal/skills/mcp/frame"
)

// The server's own stream is where it says that its tools are others now. A server that is
// busy or broken is asked for it again; one that refuses it is not, and the user is told
// if it had been there.
func TestListensOn(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	stream := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, text)
		}
	}
	const changed = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"
	for name, test := range map[string]struct {
		answers []http.HandlerFunc // to one GET after the other
		changed bool               // the news arrives in the end
		warning string             // "" for none
	}{
		"busy":           {[]http.HandlerFunc{status(429), stream(changed)}, true, ""},
		"broken":         {[]http.HandlerFunc{status(503), stream(changed)}, true, ""},
		"too large":      {[]http.HandlerFunc{stream("data: " + strings.Repeat("x", maxEvent) + "\n\n"), stream(changed)}, true, "a message of the server was lost: the server sent an event of more than"},
		"taken away":     {[]http.HandlerFunc{stream(""), status(405)}, false, "the server does not tell any more when its tools change: the server answered 405"},
		"locked out":     {[]http.HandlerFunc{stream(""), status(401)}, false, "the server does not tell any more when its tools change: the server refuses access (401"},
		"session lost":   {[]http.HandlerFunc{stream(""), status(404)}, false, "the server does not tell any more when its tools change: the server answered 404"},
		"never offered":  {[]http.HandlerFunc{status(405)}, false, ""},
		"never found":    {[]http.HandlerFunc{status(404)}, false, ""},
		"never ours":     {[]http.HandlerFunc{status(403)}, false, ""},
		"news, the once": {[]http.HandlerFunc{stream(changed)}, true, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var asked atomic.Int64
			remote := inMemory(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				id, method := idOf(t, r)
				switch n := int(asked.Load()); {
				case method == "initialize":
					w.Header().Set(sessionHeader, "session-1")
					answerInitialize(w, id)
				case r.Method == http.MethodPost:
					w.WriteHeader(http.StatusAccepted)
				case r.Method == http.MethodGet && n < len(test.answers):
					asked.Add(1)
					test.answers[n](w, r)
				case r.Method == http.MethodGet:
					w.Header().Set("Content-Type", "text/event-stream")
					_ = http.NewResponseController(w).Flush()
					<-r.Context().Done()
				}
			}))
			warnings := make(chan string, 10)
			warn := func(what string, why error) { warnings <- what + ": " + remoteError(why).Error() }
			c, err := openHTTP(t.Context(), remote, warn)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			hello, err := frame.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Write(t.Context(), hello); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				c.(*httpConn).listenAll(func() {})
			}()
			if test.changed {
				if m, err := c.Read(t.Context()); err != nil || m == nil {
					t.Errorf("%s: %v, %v", name, m, err)
				}
			} else {
				<-ended
			}
			got := ""
			if len(warnings) > 0 {
				got = <-warnings
			}
			if !strings.HasPrefix(got, test.warning) || (got == "") != (test.warning == "") || len(warnings) > 0 {
				t.Errorf("%s: warned %q, want %q", name, got, test.warning)
			}
			if int(asked.Load()) != len(test.answers) {
				t.Errorf("%s: asked %d times", name, asked.Load())
			}
		})
	}
}

// inMemory is a server that is reached over pipes, for tests with testing/synctest: what waits for
// a pause does not really wait.
func inMemory(t *testing.T, h http.Handler) *Remote {
	t.Helper()
	pipes := &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: h}
	go func() { _ = server.Serve(pipes) }()
	transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		pipes.conns <- theirs
		return ours, nil
	}}
	t.Cleanup(func() {
		_ = server.Close()
		transport.CloseIdleConnections()
	})
	return &Remote{Endpoint: "http://in.memory/mcp", Client: &http.Client{Transport: transport}}
}

type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	close(l.closed)
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{} }
