package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// asked remembers what a proxy asked about, and answers.
type asked struct {
	mu     sync.Mutex
	hosts  []string
	answer func(ctx context.Context, host string) bool
}

func (a *asked) ask(ctx context.Context, listener, host string, port int) bool {
	a.mu.Lock()
	a.hosts = append(a.hosts, fmt.Sprintf("%s: %s:%d", listener, host, port))
	a.mu.Unlock()
	return a.answer(ctx, host)
}

func (a *asked) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.hosts)
}

func (a *asked) hook(p *Proxy) { p.ask = a.ask }

// A host that is not listed is connected if the answer allows it. Before the answer, its name is not
// looked up: it can contain what a program wants to send out.
func TestProxyAsks(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") }))
	t.Cleanup(s.Close)
	n := &network{server: s.Listener.Addr().String(), names: names1(map[string]string{"yes.example.com": "8.8.8.8", "listed.example.com": "8.8.4.4"})}
	questions := &asked{answer: func(_ context.Context, host string) bool {
		if d := n.dials(); len(d) > 0 || len(n.asked) > 0 {
			t.Errorf("before the answer, %q were dialled and %q looked up", d, n.asked)
		}
		return host == "yes.example.com"
	}}
	w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{{Name: "x skill", Allow: []string{"listed.example.com"}}}}, questions.hook)

	if _, status, reason, _ := w.ask(0, connectTo("no.example.com")); status != http.StatusForbidden || reason != ReasonDomain {
		t.Errorf("denied: %d %s", status, reason)
	}
	if a := w.access(); a.Allowed || a.Reason != ReasonDomain || a.Host != "no.example.com" {
		t.Errorf("denied: %+v", a)
	}
	conn := w.tunnel(0, "YES.example.com.")
	c, err := handshake(conn, "yes.example.com")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: yes.example.com\r\nConnection: close\r\n\r\n")
	if text, _ := io.ReadAll(c); !bytes.HasSuffix(text, []byte("hello")) {
		t.Errorf("got %q", text)
	}
	if a := w.access(); !a.Allowed || a.Host != "yes.example.com" || a.Address != "8.8.8.8" {
		t.Errorf("allowed: %+v", a)
	}
	_ = conn.Close()
	if want := []string{"x skill: no.example.com:443", "x skill: yes.example.com:443"}; !slices.Equal(questions.all(), want) {
		t.Errorf("asked about %q", questions.all())
	}
}

// The user is not asked about what cannot be reached, whatever the answer is: addresses in any notation,
// private names, other ports, and clients without the token.
func TestProxyDoesNotAsk(t *testing.T) {
	n := &network{names: names1(map[string]string{"a.example.com": "8.8.8.8"})}
	questions := &asked{answer: func(context.Context, string) bool { return true }}
	w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{{Name: "open"}, {Name: "locked", Token: "secret"}}}, questions.hook)
	for _, target := range []string{
		"127.0.0.1:443", "[::1]:443", "169.254.169.254:443", "0x7f.1:443", "2130706433:443", "localhost:443", "metadata:443", "metadata.google.internal:443", "printer.local:443",
		"a.example.com:22", "xn--80ak6aa92e.com:443", "a\x1b[2J.example.com:443",
	} {
		if _, status, reason, _ := w.ask(0, "CONNECT "+target+" HTTP/1.1\r\n\r\n"); status == http.StatusOK {
			t.Errorf("%q: %d %s", target, status, reason)
		}
	}
	if _, status, _, _ := w.ask(1, connectTo("a.example.com")); status != http.StatusProxyAuthRequired {
		t.Errorf("without the token: %d", status)
	}
	if all := questions.all(); len(all) > 0 {
		t.Errorf("asked about %q", all)
	}
}

// An answer does not open private addresses, also not to a name that changes its address while the
// user thinks.
func TestProxyAsksAboutRebinding(t *testing.T) {
	n := &network{names: names1(map[string]string{"rebind.example.com": "8.8.8.8", "meta.example.com": "169.254.169.254", "both.example.com": "8.8.8.8 127.0.0.1"})}
	questions := &asked{answer: func(context.Context, string) bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.names["rebind.example.com"] = [][]string{{"127.0.0.1"}}
		return true
	}}
	w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{{Name: "x"}}}, questions.hook)
	for _, host := range []string{"rebind.example.com", "meta.example.com", "both.example.com"} {
		if _, status, reason, _ := w.ask(0, connectTo(host)); status != http.StatusForbidden || reason != ReasonAddress {
			t.Errorf("%s: %d %s", host, status, reason)
		}
	}
	if d := n.dials(); len(d) > 0 || len(questions.all()) != 3 {
		t.Errorf("dialled %v, asked about %q", d, questions.all())
	}
}

// The name in the TLS hello must be the one that was asked about.
func TestProxyAsksAboutOneName(t *testing.T) {
	server := listen(t)
	n := &network{server: server.Addr().String(), names: names1(map[string]string{"good.example.com": "8.8.8.8"})}
	questions := &asked{answer: func(context.Context, string) bool { return true }}
	w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{{Name: "x"}}}, questions.hook)
	if _, err := handshake(w.tunnel(0, "good.example.com"), "evil.example.com"); err == nil {
		t.Error("the handshake went through")
	}
	if a := w.access(); a.Allowed || a.Reason != ReasonServerName {
		t.Errorf("got %+v", a)
	}
}

// A client that goes away withdraws the question. One that sends its hello early does not, and the
// hello is not lost.
func TestProxyAsksForClients(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello") }))
	t.Cleanup(s.Close)
	n := &network{server: s.Listener.Addr().String(), names: names1(map[string]string{"early.example.com": "8.8.8.8"})}
	begun, answer := make(chan struct{}), make(chan struct{})
	questions := &asked{answer: func(ctx context.Context, host string) bool {
		begun <- struct{}{}
		if host == "early.example.com" {
			<-answer
			return true
		}
		<-ctx.Done()
		return true // which is too late
	}}
	w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{{Name: "x"}}}, questions.hook)
	gone := w.knock(0)
	_, _ = io.WriteString(gone, connectTo("gone.example.com"))
	<-begun
	_ = gone.Close()
	if a := w.access(); a.Allowed || a.Reason != ReasonDomain {
		t.Errorf("a client that went away: %+v", a)
	}

	for range 20 { // the proxy has seen the hello before the answer, or it has not
		conn, sent := w.knock(0), make(chan struct{})
		_, _ = io.WriteString(conn, connectTo("early.example.com"))
		<-begun
		c := tls.Client(&afterAnswer{Conn: conn, t: t, sent: sent}, &tls.Config{ServerName: "early.example.com", InsecureSkipVerify: true}) //nolint:gosec // the certificate is not the question
		go func() {
			<-sent
			answer <- struct{}{}
		}()
		if err := c.HandshakeContext(t.Context()); err != nil {
			t.Errorf("the early hello: %v", err)
		}
		if a := w.access(); !a.Allowed {
			t.Errorf("the early hello: %+v", a)
		}
		_ = conn.Close()
		w.closed()
	}
}

// An afterAnswer sends before the proxy has answered, and reads that answer before anything else.
type afterAnswer struct {
	net.Conn
	t    *testing.T
	once sync.Once
	sent chan struct{} // closed when something was sent
}

func (c *afterAnswer) Read(p []byte) (int, error) {
	c.once.Do(func() {
		close(c.sent)
		if status, reason, _ := answerOf(c.t, c.Conn); status != http.StatusOK {
			c.t.Errorf("the early hello: %d %s", status, reason)
		}
	})
	return c.Conn.Read(p)
}
