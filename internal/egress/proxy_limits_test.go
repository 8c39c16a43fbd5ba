package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Each listener has places that the others cannot take.
func TestPlaces(t *testing.T) {
	p := newSlots(10, 2) // two for each, six shared
	took := 0
	for p.take(0) {
		took++
	}
	if took != 8 {
		t.Errorf("one listener took %d places, want 8", took)
	}
	if own := []bool{p.take(1), p.take(1), p.take(1)}; !slices.Equal(own, []bool{true, true, false}) {
		t.Error("the other listener does not have its two")
	}
	p.leave(0)
	if !p.take(1) || p.take(0) || p.take(1) {
		t.Error("a slot that became free is not available for the next")
	}
	for range 3 {
		p.leave(1)
	}
	for range 7 {
		p.leave(0)
	}
	if p.shared != 6 || p.taken[0] != 0 || p.taken[1] != 0 {
		t.Errorf("places got lost: %+v", p)
	}
	if one := newSlots(1, 3); !one.take(2) || one.take(0) {
		t.Error("a single place is not a single one")
	}
}

func TestProxyConnectionLimit(t *testing.T) {
	l := listen(t)
	n := &network{server: l.Addr().String(), names: names1(map[string]string{"a.example.com": "8.8.8.8"})}
	allow := []string{"a.example.com"}
	w := serveProxy(t, n, ProxyConfig{MaxConnections: 4, Listeners: []Listener{{Name: "one", Allow: allow}, {Name: "two", Allow: allow}}})
	var open []*net.TCPConn
	for range 3 {
		open = append(open, w.tunnel(0, "a.example.com"))
	}
	_, status, reason, _ := w.ask(0, connectTo("a.example.com"))
	if a := w.access(); status != http.StatusTooManyRequests || reason != ReasonLimit || a.Reason != ReasonLimit || a.Host != "a.example.com" {
		t.Errorf("got %d %s, %+v", status, reason, a)
	}
	w.tunnel(1, "a.example.com") // one place is its own
	if _, status, _, _ := w.ask(1, connectTo("a.example.com")); status != http.StatusTooManyRequests {
		t.Errorf("got %d", status)
	}
	w.access()
	_ = open[0].Close()
	if a := w.access(); a.Reason != ReasonHello {
		t.Errorf("got %+v", a)
	}
	<-l.gone
	for { // the place is free a moment after the report
		_, status, _, _ = w.ask(0, connectTo("a.example.com"))
		if status == http.StatusOK {
			break
		}
		if a := w.access(); a.Reason != ReasonLimit {
			t.Fatalf("got %+v", a)
		}
	}
}

// A client that opens connections and sends nothing, or sends slowly, does not block others.
func TestProxySlowClients(t *testing.T) {
	l := listen(t)
	n := &network{server: l.Addr().String(), names: names1(map[string]string{"a.example.com": "8.8.8.8"})}
	w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{{Name: "g", Allow: []string{"a.example.com"}}}})
	var slow []*net.TCPConn
	for i := range 3 * maxPending {
		conn := w.knock(0)
		if i%2 == 0 {
			_, _ = io.WriteString(conn, "CONNECT a.exam")
		}
		slow = append(slow, conn)
	}
	w.tunnel(0, "a.example.com")
	for range 2 * maxPending {
		if a := w.access(); a.Allowed || a.Reason != ReasonLimit {
			t.Fatalf("got %+v", a)
		}
	}
	if _, err := io.ReadAll(slow[0]); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the first is still open: %v", err)
	}
}

// The end of the context ends everything, in every state of a connection, and what was
// carried is reported.
func TestProxyCancel(t *testing.T) {
	l := listen(t)
	before := runtime.NumGoroutine()
	n := &network{server: l.Addr().String(), names: names1(map[string]string{"a.example.com": "8.8.8.8"})}
	hang := make(chan struct{})
	w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{{Name: "g", Allow: []string{"a.example.com", "hangs.example.com"}}}}, func(p *Proxy) {
		p.resolver = hanging{n, hang}
	})
	var conns []net.Conn
	conns = append(conns, w.knock(0))
	half := w.knock(0)
	_, _ = io.WriteString(half, "CONNECT a.")
	looking := w.knock(0)
	_, _ = io.WriteString(looking, connectTo("hangs.example.com"))
	<-hang
	conns = append(conns, half, looking, w.tunnel(0, "a.example.com"))
	open := w.tunnel(0, "a.example.com")
	_, _ = open.Write(cut(handmade(names("a.example.com")), 100))
	if a := w.access(); !a.Allowed {
		t.Fatalf("got %+v", a)
	}
	conns = append(conns, open)
	w.close()
	counts := map[string]int{}
	for len(w.lines) > 0 {
		line := w.next()
		switch {
		case line.Closed != nil:
			counts["closed"]++
		case line.Access != nil:
			counts[line.Access.Reason]++
		}
	}
	if counts["closed"] != 1 || counts[ReasonHello] != 1 || counts[ReasonResolve] != 1 {
		t.Errorf("reported %v", counts)
	}
	for i, conn := range conns {
		if _, err := io.ReadAll(conn); errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("connection %d is still open", i)
		}
	}
	if _, err := net.Dial("tcp", w.listeners[0].Address); err == nil {
		t.Error("the listener is still open")
	}
	for range 2 {
		<-l.gone
	}
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; {
		if time.Now().After(end) {
			buf := make([]byte, 1<<16)
			t.Fatalf("goroutines are left:\n%s", buf[:runtime.Stack(buf, true)])
		}
		runtime.Gosched()
	}
}

// hanging answers for one name never.
type hanging struct {
	Resolver
	asked chan struct{}
}

func (h hanging) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	if host == "hangs.example.com." {
		close(h.asked)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.Resolver.LookupNetIP(ctx, network, host)
}

// What cannot be reported does not happen: the proxy ends, and the server sees no byte.
func TestProxyReportFails(t *testing.T) {
	l := listen(t)
	n := &network{server: l.Addr().String(), names: names1(map[string]string{"a.example.com": "8.8.8.8"})}
	full := errors.New("no space left")
	p, err := Listen(t.Context(), ProxyConfig{Listeners: []Listener{{Name: "g", Address: "127.0.0.1:0", Allow: []string{"a.example.com"}}}}, ProxyOptions{Resolver: n, Report: func(l Line) error {
		if l.Access != nil {
			return full
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	p.connect = n.connect
	ended := make(chan error)
	go func() { ended <- p.Serve(t.Context()) }()
	w := &servingProxy{t: t, listeners: p.Listeners()}
	conn := w.tunnel(0, "a.example.com")
	_, _ = conn.Write(cut(handmade(names("a.example.com")), 100))
	if err := <-ended; !errors.Is(err, full) {
		t.Errorf("ended with %v", err)
	}
	<-l.gone
	if _, heard := l.seen(); heard != 0 {
		t.Errorf("the server saw %d bytes", heard)
	}
}

// Behind an upstream proxy names are asked for, not addresses, and the other rules hold.
func TestProxyUpstream(t *testing.T) {
	up, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = up.Close() })
	type asked struct {
		line, auth string
		heard      string
	}
	requests := make(chan asked, 100)
	go func() {
		for {
			conn, err := up.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r, err := http.ReadRequest(bufio.NewReader(&slowly{conn}))
				if err != nil {
					return
				}
				a := asked{line: fmt.Sprintf("%s %s %s", r.Method, r.RequestURI, r.Host), auth: r.Header.Get("Proxy-Authorization")}
				switch r.URL.Host {
				case "no.example.com:443":
					_, _ = io.WriteString(conn, "HTTP/1.1 407 No\r\nX: secret\r\n\r\n")
				case "early.example.com:443":
					_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\nearly")
				case "odd.example.com:443":
					_, _ = io.WriteString(conn, "SSH-2.0-x\r\n\r\n")
				case "gone.example.com:443":
				default:
					_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nX-Y: z\r\n\r\n")
					heard, _ := io.ReadAll(conn)
					a.heard = string(heard)
				}
				requests <- a
			}()
		}
	}()
	n := &network{server: up.Addr().String()}
	w := serveProxy(t, n, ProxyConfig{Upstream: "http://me:pa%40ss@proxy.corp:8080", Listeners: []Listener{{Name: "g", Allow: []string{"*.example.com", "*.internal", "localhost"}}}})
	first := cut(handmade(names("a.example.com")), 100)
	conn := w.tunnel(0, "A.example.com.")
	_, _ = conn.Write(first)
	_ = conn.CloseWrite()
	if a := w.access(); !a.Allowed || a.Address != "" || a.Host != "a.example.com" {
		t.Errorf("got %+v", a)
	}
	w.closed()
	if got, want := <-requests, (asked{"CONNECT a.example.com:443 a.example.com:443", "Basic " + basic("me", "pa@ss"), string(first)}); got != want {
		t.Errorf("the upstream saw %+v, want %+v", got, want)
	}
	conn = w.tunnel(0, "a.example.com")
	_, _ = conn.Write(cut(handmade(names("b.example.com")), 100))
	if a := w.access(); a.Reason != ReasonServerName {
		t.Errorf("got %+v", a)
	}
	if got := <-requests; got.heard != "" {
		t.Errorf("the upstream heard %q", got.heard)
	}
	for _, host := range []string{"no.example.com", "early.example.com", "odd.example.com", "gone.example.com"} {
		_, status, reason, body := w.ask(0, connectTo(host))
		if a := w.access(); status != http.StatusBadGateway || reason != ReasonUnreached || a.Reason != ReasonUnreached || strings.Contains(body, "secret") {
			t.Errorf("%s: got %d %s %q, %+v", host, status, reason, body, a)
		}
	}
	if d := n.dials(); len(d) != 6 || slices.ContainsFunc(d, func(s string) bool { return s != "proxy.corp:8080" }) || n.lookups() != 0 {
		t.Errorf("dialled %v, looked up %v", d, n.asked)
	}
	for host, want := range map[string]string{"localhost": ReasonAddress, "x.internal": ReasonAddress, "evil.com": ReasonDomain, "127.0.0.1": ReasonHost} {
		if _, status, reason, _ := w.ask(0, connectTo(host)); status != http.StatusForbidden || reason != want {
			t.Errorf("%s: got %d %s", host, status, reason)
		}
	}
	if d := n.dials(); d != nil {
		t.Errorf("dialled %v", d)
	}
}

// Finding T17: clients from other addresses than the listener serves get no answer, do not use
// up the requests of the others, and do not fill the journal.
func TestProxyServesItsClients(t *testing.T) {
	n := &network{}
	ours, others := netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("192.0.2.0/24")
	w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{
		{Name: "ours", Clients: []netip.Prefix{others, ours}}, {Name: "others", Clients: []netip.Prefix{others}}, {Name: "any"},
	}})
	for range burst + 2*maxForeigners {
		conn := w.knock(1)
		_, _ = io.WriteString(conn, connectTo("a.example.com"))
		if got, _ := io.ReadAll(conn); len(got) > 0 { // it may be reset, which is as good
			t.Fatalf("a foreign client was answered: %s", got)
		}
	}
	for range maxForeigners {
		if a := w.access(); a.Allowed || a.Reason != ReasonClient || a.Listener != "others" || a.Host != "" {
			t.Errorf("reported %+v", a)
		}
	}
	w.quiet()
	for _, listener := range []int{0, 2} {
		if _, status, reason, _ := w.ask(listener, connectTo("a.example.com")); status != http.StatusForbidden || reason != ReasonDomain {
			t.Errorf("listener %d: %d %s", listener, status, reason)
		}
	}
	for _, block := range []string{`"10.0.0.1/8"`, `"x"`, `""`, `"10.0.0.1"`} {
		if _, err := ParseProxyConfig([]byte(`{"listeners":[{"name":"a","address":"127.0.0.1:0","allow":[],"clients":[` + block + `]}]}`)); err == nil {
			t.Errorf("%s was taken", block)
		}
	}
}
