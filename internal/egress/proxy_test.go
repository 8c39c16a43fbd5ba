package egress

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func names1(names map[string]string) map[string][][]string {
	out := map[string][][]string{}
	for name, addrs := range names {
		out[name] = [][]string{strings.Fields(addrs)}
	}
	return out
}

// The way of one connection: decided, reported, carried, counted. The certificate is that
// of the server: the proxy does not intercept TLS.
func TestProxyCarries(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %d", r.Host, r.TLS.ServerName, len(body))
	}))
	t.Cleanup(s.Close)
	n := &network{server: s.Listener.Addr().String(), names: names1(map[string]string{"example.com": "8.8.8.8 2606:4700::1111"})}
	w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{{Name: "writer skill", Allow: []string{"Example.com"}}}})

	transport := s.Client().Transport.(*http.Transport).Clone() // it trusts the server's certificate, and no other
	transport.Proxy = http.ProxyURL(parse(t, "http://"+w.listeners[0].Address))
	client := &http.Client{Transport: transport}
	for _, target := range []string{"https://example.com/", "https://EXAMPLE.com:443/"} {
		got, err := send(t, client, http.MethodPost, target, strings.Repeat("x", 1<<20))
		if err != nil || !strings.HasSuffix(strings.ToLower(got.body), " example.com 1048576") {
			t.Errorf("%s: got %q, %v", target, got.body, err)
		}
		a := w.access()
		if want := (Access{ID: a.ID, Listener: "writer skill", Allowed: true, Host: "example.com", Port: 443, Address: "8.8.8.8"}); a != want {
			t.Errorf("got %+v, want %+v", a, want)
		}
		w.quiet()
		client.CloseIdleConnections()
		if c := w.closed(); c.ID != a.ID || c.Sent < 1<<20 || c.Received < 100 {
			t.Errorf("got %+v", c)
		}
		if d := n.dials(); !slices.Equal(d, []string{"8.8.8.8:443"}) {
			t.Errorf("dialled %v", d)
		}
	}
	if !slices.Equal(n.asked, []string{"example.com.", "example.com."}) {
		t.Errorf("looked up %q", n.asked)
	}
}

// Promises N2 to N5: what a request may not ask for. Nothing is looked up and nothing is
// dialled.
func TestProxyRefusesRequests(t *testing.T) {
	n := &network{names: names1(map[string]string{"api.example.com": "8.8.8.8", "wild.example.com": "8.8.8.8", "localhost": "8.8.8.8", "a.internal": "8.8.8.8"})}
	w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{
		{Name: "open", Allow: []string{"api.example.com", "*.wild.example.com", "localhost", "*.internal"}},
		{Name: "locked", Allow: []string{"api.example.com"}, Token: "kX82mQ0vT4nB7cLw9rJd"},
		{Name: "shut"},
	}})
	const method, request, token, host, port, domain, address, hello = 405, 400, 407, 403, 403, 403, 403, 400
	for _, test := range []struct {
		listener int
		text     string
		status   int
		reason   string
		host     string
		port     int
	}{
		{0, "GET http://api.example.com/ HTTP/1.1\r\nHost: api.example.com\r\n\r\n", method, ReasonMethod, "api.example.com", 80},
		{0, "GET https://api.example.com/ HTTP/1.1\r\n\r\n", method, ReasonMethod, "api.example.com", 443},
		{0, "GET http://api.example.com:443/ HTTP/1.1\r\n\r\n", method, ReasonMethod, "api.example.com", 443},
		{0, "POST http://169.254.169.254/latest/ HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", method, ReasonMethod, "169.254.169.254", 80},
		{0, "connect api.example.com:443 HTTP/1.1\r\n\r\n", method, ReasonMethod, "api.example.com", 443},
		{0, "OPTIONS * HTTP/1.1\r\n\r\n", method, ReasonMethod, "*", 0},

		{0, "CONNECT api.example.com:443 HTTP/2.0\r\n\r\n", request, ReasonRequest, "api.example.com", 443},
		{0, "CONNECT api.example.com:443 HTTP/1.1\r\nHost: evil.com:443\r\n\r\n", request, ReasonRequest, "api.example.com", 443},
		{0, "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:80\r\n\r\n", request, ReasonRequest, "api.example.com", 443},
		{0, "CONNECT api.example.com:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", request, ReasonRequest, "api.example.com", 443},
		{0, "CONNECT api.example.com:443 evil.com:443 HTTP/1.1\r\n\r\n", request, ReasonRequest, "", 0},
		{0, "\x16\x03\x01\x02\x00", request, ReasonRequest, "", 0},
		{0, "CONNECT api.example.com:443 HTTP/1.1\r\nX: " + strings.Repeat("x", maxHead) + "\r\n\r\n", request, ReasonRequest, "", 0},

		{1, connectTo("api.example.com"), token, ReasonToken, "api.example.com", 443},
		{1, "CONNECT api.example.com:443 HTTP/1.1\r\nProxy-Authorization: Basic " + basic("perstack", "kX82mQ0vT4nB7cLw9rJe") + "\r\n\r\n", token, ReasonToken, "api.example.com", 443},
		{1, "CONNECT api.example.com:443 HTTP/1.1\r\nProxy-Authorization: Basic " + basic("other", "kX82mQ0vT4nB7cLw9rJd") + "\r\n\r\n", token, ReasonToken, "api.example.com", 443},
		{1, "CONNECT api.example.com:443 HTTP/1.1\r\nProxy-Authorization: Bearer " + basic("perstack", "kX82mQ0vT4nB7cLw9rJd") + "\r\n\r\n", token, ReasonToken, "api.example.com", 443},
		{1, "CONNECT api.example.com:443 HTTP/1.1\r\nAuthorization: Basic " + basic("perstack", "kX82mQ0vT4nB7cLw9rJd") + "\r\n\r\n", token, ReasonToken, "api.example.com", 443},
		{1, "CONNECT api.example.com:443 HTTP/1.1\r\nProxy-Authorization: Basic\r\n\r\n", token, ReasonToken, "api.example.com", 443},
		{1, "CONNECT evil.com:443 HTTP/1.1\r\nProxy-Authorization: basic  " + basic("perstack", "kX82mQ0vT4nB7cLw9rJd") + "\r\n\r\n", domain, ReasonDomain, "evil.com", 443},

		{0, connectTo("127.0.0.1"), host, ReasonHost, "127.0.0.1", 443},
		{0, connectTo("8.8.8.8"), host, ReasonHost, "8.8.8.8", 443},
		{0, connectTo("2130706433"), host, ReasonHost, "2130706433", 443},
		{0, connectTo("0x7f.1"), host, ReasonHost, "0x7f.1", 443},
		{0, connectTo("[::1]"), host, ReasonHost, "[::1]", 443},
		{0, connectTo("[::ffff:127.0.0.1]"), host, ReasonHost, "[::ffff:127.0.0.1]", 443},
		{0, connectTo("[fe80::1%25eth0]"), host, ReasonHost, "[fe80::1%25eth0]", 443},
		{0, connectTo("::1"), host, ReasonHost, "::1", 443},
		{0, connectTo("user:pw@api.example.com"), host, ReasonHost, "api.example.com", 443},
		{0, connectTo("evil.com@api.example.com"), host, ReasonHost, "api.example.com", 443},
		{0, connectTo("api.example.com%00.evil.com"), host, ReasonHost, "api.example.com%00.evil.com", 443},
		{0, connectTo("api.example.com\x00"), host, ReasonHost, "api.example.com?", 443},
		{0, connectTo("api.example.com.."), host, ReasonHost, "api.example.com..", 443},
		{0, connectTo("xn--pi-7ka.example.com"), host, ReasonHost, "xn--pi-7ka.example.com", 443},
		{0, connectTo("аpi.example.com"), host, ReasonHost, "??pi.example.com", 443},
		{0, connectTo("api.example.com:443"), host, ReasonHost, "api.example.com:443", 443},
		{0, "CONNECT https://api.example.com:443 HTTP/1.1\r\n\r\n", host, ReasonHost, "api.example.com", 443},
		{0, "CONNECT api.example.com:443/ HTTP/1.1\r\n\r\n", port, ReasonPort, "api.example.com", 0},
		{0, "CONNECT api.example.com HTTP/1.1\r\n\r\n", port, ReasonPort, "api.example.com", 0},
		{0, "CONNECT api.example.com: HTTP/1.1\r\n\r\n", port, ReasonPort, "api.example.com", 0},
		{0, "CONNECT api.example.com:80 HTTP/1.1\r\n\r\n", port, ReasonPort, "api.example.com", 80},
		{0, "CONNECT api.example.com:22 HTTP/1.1\r\n\r\n", port, ReasonPort, "api.example.com", 22},
		{0, "CONNECT api.example.com:8443 HTTP/1.1\r\n\r\n", port, ReasonPort, "api.example.com", 8443},
		{0, "CONNECT api.example.com:0443 HTTP/1.1\r\n\r\n", port, ReasonPort, "api.example.com", 443},
		{0, "CONNECT api.example.com:65979 HTTP/1.1\r\n\r\n", port, ReasonPort, "api.example.com", 0},

		{0, connectTo("wild.example.com"), domain, ReasonDomain, "wild.example.com", 443},
		{0, connectTo("evilwild.example.com"), domain, ReasonDomain, "evilwild.example.com", 443},
		{0, connectTo("api.example.com.evil.com"), domain, ReasonDomain, "api.example.com.evil.com", 443},
		{0, connectTo("A.EVIL.COM."), domain, ReasonDomain, "a.evil.com", 443},
		{2, connectTo("api.example.com"), domain, ReasonDomain, "api.example.com", 443},

		{0, connectTo("localhost"), address, ReasonAddress, "localhost", 443}, // whatever the list and the name server say
		{0, connectTo("a.internal"), address, ReasonAddress, "a.internal", 443},

		{0, connectTo("api.example.com") + "GET / HTTP/1.1\r\n\r\n", hello, ReasonHello, "api.example.com", 443},
		{0, connectTo("api.example.com") + connectTo("api.example.com"), hello, ReasonHello, "api.example.com", 443},
	} {
		conn, status, reason, body := w.ask(test.listener, test.text)
		if status != test.status || reason != test.reason || !strings.HasPrefix(body, "perstack: ") || strings.Count(body, "\n") != 1 || strings.Contains(body, "kX82") {
			t.Errorf("%.80q: got %d %s %q, want %d %s", test.text, status, reason, body, test.status, test.reason)
		}
		_ = conn.Close()
		a := w.access()
		if want := (Access{ID: a.ID, Listener: w.listeners[test.listener].Name, Host: test.host, Port: test.port, Reason: test.reason}); a != want {
			t.Errorf("%.80q: reported %+v, want %+v", test.text, a, want)
		}
	}
	w.quiet()
	if d := n.dials(); d != nil || n.lookups() != 0 {
		t.Errorf("dialled %v, looked up %q", d, n.asked)
	}
	for _, l := range w.listeners {
		if l.Token != "" {
			t.Error("a token is reported")
		}
	}
}

// The token opens its own listener and no other.
func TestProxyToken(t *testing.T) {
	l := listen(t)
	n := &network{server: l.Addr().String(), names: names1(map[string]string{"api.example.com": "8.8.8.8"})}
	allow := []string{"api.example.com"}
	w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{{Name: "engine", Allow: allow, Token: "kX82mQ0vT4nB7cLw9rJd"}, {Name: "skill", Allow: allow, Token: "ganz-anderes-wort-hier"}}})
	text := "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\nproxy-authorization: BASIC " + basic("perstack", "kX82mQ0vT4nB7cLw9rJd") + "\r\n\r\n"
	if _, status, _, _ := w.ask(0, text); status != http.StatusOK {
		t.Errorf("with its token: %d", status)
	}
	if _, status, reason, _ := w.ask(1, text); status != http.StatusProxyAuthRequired || reason != ReasonToken {
		t.Errorf("with the token of another listener: %d", status)
	}
}

// Promise N6: every address of every block, alone and among public ones, also in its
// mapped form. Nothing is dialled.
func TestProxyRefusesAddresses(t *testing.T) {
	n := &network{names: map[string][][]string{}}
	w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{{Name: "g", Allow: []string{"a.example.com"}}}})
	all := slices.Clone(notPublic)
	for _, text := range notPublic {
		if !strings.Contains(text, ":") {
			all = append(all, "::ffff:"+text)
		}
	}
	for _, bad := range all {
		for _, answer := range [][]string{{bad}, {"8.8.8.8", bad}, {bad, "2606:4700::1111"}} {
			n.mu.Lock()
			n.names["a.example.com"] = [][]string{answer}
			n.mu.Unlock()
			conn, status, reason, _ := w.ask(0, connectTo("a.example.com"))
			_ = conn.Close()
			if a := w.access(); status != http.StatusForbidden || reason != ReasonAddress || a.Reason != ReasonAddress || a.Allowed || a.Address != "" {
				t.Errorf("%v: got %d %s, %+v", answer, status, reason, a)
			}
			if d := n.dials(); d != nil {
				t.Errorf("%v: dialled %v", answer, d)
			}
		}
	}
}

// A name server that says something else the second time gets nothing: the address that
// was checked is dialled, without another lookup.
func TestProxyRebinding(t *testing.T) {
	l := listen(t)
	n := &network{server: l.Addr().String(), names: map[string][][]string{"a.example.com": {{"8.8.8.8"}, {"127.0.0.1"}, {"169.254.169.254"}}}}
	w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{{Name: "g", Allow: []string{"a.example.com"}}}})
	w.tunnel(0, "a.example.com")
	if d := n.dials(); !slices.Equal(d, []string{"8.8.8.8:443"}) || n.lookups() != 1 {
		t.Errorf("dialled %v after %d look-ups", d, n.lookups())
	}
	for range 2 {
		if _, status, reason, _ := w.ask(0, connectTo("a.example.com")); status != http.StatusForbidden || reason != ReasonAddress {
			t.Errorf("got %d %s", status, reason)
		}
	}
	if d := n.dials(); d != nil {
		t.Errorf("dialled %v", d)
	}
}

func TestProxyCannotReach(t *testing.T) {
	n := &network{names: names1(map[string]string{"nobody.example.com": "8.8.8.8 8.8.4.4", "empty.example.com": ""})}
	w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{{Name: "g", Allow: []string{"*.example.com"}}}})
	for host, want := range map[string]string{"nobody.example.com": ReasonUnreached, "none.example.com": ReasonResolve, "empty.example.com": ReasonResolve} {
		_, status, reason, _ := w.ask(0, connectTo(host))
		if a := w.access(); status != http.StatusBadGateway || reason != want || a.Reason != want {
			t.Errorf("%s: got %d %s, %+v", host, status, reason, a)
		}
	}
	if d := n.dials(); !slices.Equal(d, []string{"8.8.8.8:443", "8.8.4.4:443"}) {
		t.Errorf("dialled %v", d)
	}
}

// Promise N8: the server sees no byte of a client whose hello names another host, or none.
func TestProxyServerName(t *testing.T) {
	l := listen(t)
	n := &network{server: l.Addr().String(), names: names1(map[string]string{"a.example.com": "8.8.8.8"})}
	w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{{Name: "g", Allow: []string{"*.example.com"}}}})
	tunnels := 0
	for what, hello := range map[string][]byte{
		"other":        cut(handmade(names("b.example.com")), 1000),
		"apex":         cut(handmade(names("example.com")), 1000),
		"longer":       cut(handmade(names("a.example.com.evil.com")), 1000),
		"NUL":          cut(handmade(names("a.example.com\x00")), 1000),
		"address":      cut(handmade(names("8.8.8.8")), 1000),
		"punycode":     cut(handmade(names("xn--a.example.com")), 1000),
		"none":         realHello(t, &tls.Config{ServerName: "8.8.8.8"}),
		"two":          cut(handmade(names("a.example.com", "b.example.com")), 1000),
		"hidden":       cut(handmade(names("a.example.com"), extension(extHidden, []byte{0})), 1000),
		"in fragments": cut(handmade(names("b.example.com")), 1),
		"with more":    append(cut(handmade(names("b.example.com")), 1000), make([]byte, 20_000)...),
	} {
		for _, early := range []bool{true, false} {
			tunnels++
			conn := w.knock(0)
			text := connectTo("a.example.com")
			if early { // in the packet of the request
				text += string(hello)
			}
			if _, err := io.WriteString(conn, text); err != nil {
				t.Fatal(err)
			}
			if status, _, _ := answerOf(t, conn); status != http.StatusOK {
				t.Fatalf("%s: status %d", what, status)
			}
			if !early {
				if _, err := conn.Write(hello); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := io.ReadAll(conn); err != nil || string(got) != accessDenied {
				t.Errorf("%s: the client is told %q, %v", what, got, err)
			}
			if a := w.access(); a.Allowed || a.Reason != ReasonServerName || a.Host != "a.example.com" {
				t.Errorf("%s: reported %+v", what, a)
			}
		}
	}
	for what, text := range map[string]string{"plain": "GET / HTTP/1.1\r\n\r\n", "ssh": "SSH-2.0-x\r\n", "alert": "\x15\x03\x03\x00\x02\x01\x00", "half": string(cut(handmade(names("a.example.com")), 100)[:20])} {
		tunnels++
		conn := w.tunnel(0, "a.example.com")
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		_ = conn.CloseWrite()
		if a := w.access(); a.Allowed || a.Reason != ReasonHello {
			t.Errorf("%s: reported %+v", what, a)
		}
	}
	w.quiet()
	for range tunnels {
		<-l.gone
	}
	if conns, heard := l.seen(); conns != tunnels || heard != 0 {
		t.Errorf("the server saw %d bytes in %d connections, want none in %d", heard, conns, tunnels)
	}
}

// Whatever is behind the hello flows, in both directions, byte by byte what was sent, and
// a side that has said all can still listen.
func TestProxyCarriesEverything(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = echo.Close() })
	go func() {
		for {
			conn, err := echo.Accept()
			if err != nil {
				return
			}
			go func() { // what came comes back when all has come
				defer conn.Close()
				all, _ := io.ReadAll(conn)
				_, _ = conn.Write(all)
			}()
		}
	}()
	n := &network{server: echo.Addr().String(), names: names1(map[string]string{"a.example.com": "8.8.8.8"})}
	w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{{Name: "g", Allow: []string{"a.example.com"}}}})
	first := cut(handmade(names("A.example.com.")), 20)
	for _, size := range []int{0, 1, chunkSize - 1, chunkSize, chunkSize + 1, 3*chunkSize + 17} {
		data := earlyData(bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size])
		conn := w.knock(0)
		if _, err := conn.Write(slices.Concat([]byte(connectTo("a.example.com")), first, data)); err != nil {
			t.Fatal(err)
		}
		_ = conn.CloseWrite()
		if status, _, _ := answerOf(t, conn); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
		got, err := io.ReadAll(conn)
		if err != nil || !bytes.Equal(got, slices.Concat(first, data)) {
			t.Errorf("%d bytes: got %d back, %v", size, len(got), err)
		}
		if a := w.access(); !a.Allowed {
			t.Errorf("reported %+v", a)
		}
		want := int64(len(first) + len(data))
		if c := w.closed(); c.Sent != want || c.Received != want {
			t.Errorf("%d bytes: counted %+v, want %d", size, c, want)
		}
	}
}

// A real handshake through the tunnel, with the name of the hello in other letters.
func TestProxyHandshake(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	n := &network{server: s.Listener.Addr().String(), names: names1(map[string]string{"a.example.com": "8.8.8.8"})}
	w := serveProxy(t, n, ProxyConfig{Listeners: []Listener{{Name: "g", Allow: []string{"*.example.com"}}}})
	c, err := handshake(w.tunnel(0, "A.Example.com."), "a.EXAMPLE.com")
	if err != nil || !w.access().Allowed {
		t.Errorf("got %v", err)
	}
	_ = c.Close()
	if _, err := handshake(w.tunnel(0, "a.example.com"), "b.example.com"); err == nil || !strings.Contains(err.Error(), "access denied") {
		t.Errorf("another name: got %v", err)
	}
}

// Every block that N6 names has its address in the list above.
func TestEveryBlockIsTried(t *testing.T) {
	for _, text := range strings.Fields(`0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24
		192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 ::/128 ::1/128 fe80::/10 fc00::/7 ff00::/8 64:ff9b::/96 64:ff9b:1::/48
		100::/64 2001::/23 2001:db8::/32 2002::/16 3fff::/20 5f00::/16`) {
		block := netip.MustParsePrefix(text)
		if !slices.ContainsFunc(notPublic, func(s string) bool { return block.Contains(netip.MustParseAddr(s).WithZone("")) }) {
			t.Errorf("nothing of %s is tried", block)
		}
	}
}
