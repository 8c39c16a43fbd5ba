package egress

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A hop is a little CONNECT proxy. It leads every name that it allows to one server.
type hop struct {
	at     string
	server string
	allow  string
	token  string

	mu    sync.Mutex
	asked []string // first line and token of what came
}

func newHop(t *testing.T, server, allow, token string) *hop {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hop{at: l.Addr().String(), server: server, allow: allow, token: token}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() { h.serve(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		open.Wait()
	})
	return h
}

func (h *hop) serve(conn net.Conn) {
	defer conn.Close()
	r, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return
	}
	h.mu.Lock()
	h.asked = append(h.asked, r.Method+" "+r.RequestURI)
	h.mu.Unlock()
	_, password, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
	switch {
	case password != h.token:
		io.WriteString(conn, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
	case r.Method != http.MethodConnect || r.RequestURI != h.allow:
		io.WriteString(conn, "HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\ndomain")
	default:
		far, err := net.Dial("tcp", h.server)
		if err != nil {
			return
		}
		io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		var there sync.WaitGroup
		there.Go(func() {
			io.Copy(far, conn)
			far.Close()
		})
		io.Copy(conn, far)
		conn.Close()
		there.Wait()
	}
}

func (h *hop) requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.asked
	h.asked = nil
	return out
}

// through makes a policy go through the hop.
func (h *hop) through(token string) func(*Policy) {
	return func(p *Policy) {
		p.Proxy = &url.URL{Scheme: "http", Host: h.at, User: url.UserPassword("perstack", token)}
	}
}

// With a proxy, nothing but the proxy is dialled and no name is looked up; certificates
// are checked as ever.
func TestThroughAProxy(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != "" {
			t.Error("the server was sent the token of the proxy")
		}
		io.WriteString(w, "hello")
	}))
	defer server.Close()
	h := newHop(t, server.Listener.Addr().String(), "example.com:443", "secret")

	n := &network{server: h.at}
	got, err := get(t, n.client(t, "https://example.com", trust(server), h.through("secret")), "https://example.com/path")
	if err != nil || got.body != "hello" {
		t.Fatalf("%+v, %v", got, err)
	}
	if d := n.dials(); !slices.Equal(d, []string{h.at}) || n.lookups() != 0 {
		t.Errorf("dialled %v, looked up %d names", d, n.lookups())
	}
	if r := h.requests(); !slices.Equal(r, []string{"CONNECT example.com:443"}) {
		t.Errorf("the proxy was asked %q", r)
	}

	if _, err := get(t, n.client(t, "https://example.com", h.through("secret")), "https://example.com/"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the authority: %v", err)
	}
}

// What a proxy refuses, and what is not asked of it.
func TestProxyRefusals(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://other.example.com/", http.StatusTemporaryRedirect)
	}))
	defer server.Close()
	h := newHop(t, server.Listener.Addr().String(), "example.com:443", "secret")
	for _, c := range []struct {
		name, origin, token string
		change              func(*Policy)
		want                string
		reached             bool // the proxy was asked
	}{
		{"not on its list", "https://other.example.com", "secret", trust(server), "the proxy refuses other.example.com:443", true},
		{"another port", "https://example.com:8443", "secret", trust(server), "the proxy refuses example.com:8443", true},
		{"wrong token", "https://example.com", "guess", trust(server), "wants another token", true},
		{"redirect to another origin", "https://example.com", "secret", trust(server), "which is another server", true},
		{"plain http", "http://example.com", "secret", trust(server), "plain http", false},
		{"plain http to this machine", "http://127.0.0.1:8080", "secret", private, "plain http", false},
		{"private address", "https://10.0.0.1", "secret", trust(server), "not a public address", false},
		{"local name", "https://a.localhost", "secret", trust(server), "not a public address", false},
		{"private address that is allowed", "https://10.0.0.1", "secret", private, "the proxy refuses 10.0.0.1:443", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := &network{server: h.at}
			_, err := get(t, n.client(t, c.origin, h.through(c.token), c.change), c.origin+"/")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), c.token) {
				t.Errorf("the error holds the token: %v", err)
			}
			if reached := len(h.requests()) > 0; reached != c.reached || n.lookups() != 0 {
				t.Errorf("asked the proxy: %v, looked up %d names", reached, n.lookups())
			}
		})
	}
}

// A proxy that would have to be looked up is none.
func TestProxyIsAnAddress(t *testing.T) {
	for _, address := range []string{"http://proxy:3128", "http://127.0.0.1", "http://127.0.0.1:0", "https://127.0.0.1:3128", "socks5://127.0.0.1:3128", "//127.0.0.1:3128"} {
		n := &network{}
		_, err := get(t, n.client(t, "https://example.com", func(p *Policy) { p.Proxy = parse(t, address) }), "https://example.com/")
		wantRefusal(t, err, BadOrigin)
		if d := n.dials(); d != nil || n.lookups() != 0 {
			t.Errorf("%s: dialled %v, looked up %d names", address, d, n.lookups())
		}
	}
}
