package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// A servingProxy is a proxy that serves, on a fake network: names are those of
// the network, and every address leads to its server.
type servingProxy struct {
	t         testing.TB
	proxy     *Proxy
	listeners []Listener
	lines     chan Line
	stop      context.CancelCauseFunc
	ended     chan error
}

var errStopped = errors.New("the test is over")

// build starts a proxy with listeners at addresses of this machine.
func serveProxy(t testing.TB, n *network, config ProxyConfig, change ...func(*Proxy)) *servingProxy {
	t.Helper()
	for i := range config.Listeners {
		config.Listeners[i].Address = "127.0.0.1:0"
	}
	w := &servingProxy{t: t, lines: make(chan Line, 10_000), ended: make(chan error, 1)}
	var err error
	w.proxy, err = Listen(t.Context(), config, ProxyOptions{Resolver: n, Report: func(l Line) error {
		w.lines <- l
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.proxy.connect = n.connect
	for _, c := range change {
		c(w.proxy)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	w.stop = stop
	go func() { w.ended <- w.proxy.Serve(ctx) }()
	t.Cleanup(w.close)
	w.listeners = w.next().Ready
	if len(w.listeners) != len(config.Listeners) {
		t.Fatalf("the proxy is not ready: %v", w.listeners)
	}
	return w
}

// close stops the proxy and waits until nothing of it is left.
func (w *servingProxy) close() {
	w.t.Helper()
	w.stop(errStopped)
	if err := <-w.ended; err != nil && !errors.Is(err, errStopped) && !errors.Is(err, context.Canceled) {
		w.t.Errorf("the proxy ended with %v", err)
	}
	w.ended <- nil
}

func (w *servingProxy) next() Line {
	w.t.Helper()
	select {
	case l := <-w.lines:
		return l
	case <-time.After(time.Minute):
		w.t.Fatal("nothing is reported")
		return Line{}
	}
}

// access returns the next decision, and fails if there is something else.
func (w *servingProxy) access() Access {
	w.t.Helper()
	l := w.next()
	if l.Access == nil {
		w.t.Fatalf("got line %+v, want a decision", l)
	}
	return *l.Access
}

func (w *servingProxy) closed() Closed {
	w.t.Helper()
	l := w.next()
	if l.Closed == nil {
		w.t.Fatalf("got line %+v (%+v), want the end of a connection", l, l.Access)
	}
	return *l.Closed
}

// quiet fails if something was reported that the test did not ask for.
func (w *servingProxy) quiet() {
	w.t.Helper()
	select {
	case l := <-w.lines:
		w.t.Errorf("also reported: %+v %+v %+v", l, l.Access, l.Closed)
	default:
	}
}

// knock connects to a listener.
func (w *servingProxy) knock(listener int) *net.TCPConn {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.listeners[listener].Address)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	return conn.(*net.TCPConn)
}

// ask sends text to a listener and returns status, reason and body of the answer.
func (w *servingProxy) ask(listener int, text string) (conn *net.TCPConn, status int, reason, body string) {
	w.t.Helper()
	conn = w.knock(listener)
	if _, err := io.WriteString(conn, text); err != nil {
		w.t.Fatal(err)
	}
	status, reason, body = answerOf(w.t, conn)
	return conn, status, reason, body
}

// answerOf reads no more than the answer.
func answerOf(t testing.TB, conn net.Conn) (status int, reason, body string) {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(&slowly{conn}), &http.Request{Method: http.MethodConnect})
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		rest, _ := io.ReadAll(resp.Body)
		body = string(rest)
		if resp.Header.Get("Connection") == "keep-alive" {
			t.Error("the connection must stay open")
		}
	}
	return resp.StatusCode, resp.Header.Get("Perstack-Reason"), body
}

// slowly reads byte by byte, so that a buffer takes nothing of what follows.
type slowly struct{ net.Conn }

func (s *slowly) Read(p []byte) (int, error) { return s.Conn.Read(p[:min(len(p), 1)]) }

func connectTo(host string) string { return "CONNECT " + host + ":443 HTTP/1.1\r\n\r\n" }

// tunnel opens a tunnel up to the 200.
func (w *servingProxy) tunnel(listener int, host string) *net.TCPConn {
	w.t.Helper()
	conn, status, reason, body := w.ask(listener, connectTo(host))
	if status != http.StatusOK {
		w.t.Fatalf("%s: %d %s %s", host, status, reason, body)
	}
	return conn
}

// handshake speaks TLS with the server behind the connection.
func handshake(conn net.Conn, name string) (*tls.Conn, error) {
	c := tls.Client(conn, &tls.Config{ServerName: name, InsecureSkipVerify: true, SessionTicketsDisabled: true}) //nolint:gosec // the certificate is not the question
	return c, c.HandshakeContext(context.Background())
}

// A listener remembers what it was sent, and says nothing.
type listener struct {
	net.Listener
	mu    sync.Mutex
	conns int
	heard int
	gone  chan struct{} // one for each connection that ended
}

func listen(t testing.TB) *listener {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{Listener: inner, gone: make(chan struct{}, 1000)}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			l.mu.Lock()
			l.conns++
			l.mu.Unlock()
			go func() {
				n, _ := io.Copy(io.Discard, conn)
				l.mu.Lock()
				l.heard += int(n)
				l.mu.Unlock()
				_ = conn.Close()
				l.gone <- struct{}{}
			}()
		}
	}()
	return l
}

// seen returns how many connections there were and how many bytes came.
func (l *listener) seen() (conns, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conns, l.heard
}
