package egress

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Two real servers: what was meant for one never reaches the other, however it is asked
// for. Both are on loopback, which the policy allows: it is the origin that counts.
func TestOtherOrigins(t *testing.T) {
	other := record(t, httptest.NewServer, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "taken") })
	secure := record(t, httptest.NewTLSServer, func(http.ResponseWriter, *http.Request) {})
	var to string
	first := record(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
	})
	port := parse(t, first.URL).Port()
	n := &network{server: first.Listener.Addr().String()}
	c := n.client(t, first.URL, private)

	for _, target := range []string{
		other.URL + "/", secure.URL + "/", "https://127.0.0.1:" + port + "/", "http://127.0.0.2:" + port + "/", "http://localhost:" + port + "/", "http://127.0.0.1/",
		"http://[::1]:" + port + "/", "https://mcp.example.com/", "http://169.254.169.254/latest/meta-data/", "//" + other.Listener.Addr().String() + "/",
		"http://user:pw@127.0.0.1:" + port + "/", "ftp://127.0.0.1:" + port + "/", "file:///etc/passwd", "http://127.0.0.1:0/", "http://127.0.0.1:99999/",
	} {
		n.dials()
		if !strings.HasPrefix(target, "//") {
			_, err := get(t, c, target)
			wantRefusal(t, err, OtherOrigin, BadOrigin)
			if d := n.dials(); d != nil {
				t.Errorf("%s: dialled %v", target, d)
			}
		}

		to = target
		before := len(first.requests())
		_, err := get(t, c, first.URL+"/away")
		wantRefusal(t, err, OtherOrigin, BadRedirect)
		if got := len(first.requests()) - before; got != 1 {
			t.Errorf("redirect to %s: the server saw %d requests, want 1", target, got)
		}
	}
	for name, s := range map[string]*recorder{"other": other, "secure": secure} {
		if got := s.requests(); len(got) != 0 {
			t.Errorf("the %s server was sent %v", name, got[0].Header)
		}
	}
	for _, r := range first.requests() {
		if r.Header.Get("Authorization") != "Bearer "+canary || r.Header.Get("X-Api-Key") != canary {
			t.Errorf("the server itself was not sent the headers: %v", r.Header)
		}
	}
}

// A downgrade to plain text is another origin, on the same host too.
func TestDowngrade(t *testing.T) {
	plain := record(t, httptest.NewServer, func(http.ResponseWriter, *http.Request) {})
	s := record(t, httptest.NewTLSServer, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", plain.URL)
		w.WriteHeader(http.StatusPermanentRedirect)
	})
	n := &network{server: s.Listener.Addr().String()}
	_, err := send(t, n.client(t, s.URL, private, trust(s.Server)), http.MethodPost, s.URL, "secret")
	wantRefusal(t, err, OtherOrigin)
	if len(s.requests()) != 1 || len(plain.requests()) != 0 {
		t.Errorf("saw %d and %d requests, want 1 and 0", len(s.requests()), len(plain.requests()))
	}
}

// The Host header cannot be used to speak to another server behind the same address.
func TestHostHeader(t *testing.T) {
	s := record(t, httptest.NewServer, func(http.ResponseWriter, *http.Request) {})
	n := &network{server: s.Listener.Addr().String()}
	c := n.client(t, s.URL, private)
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody)
	r.Host = "admin.internal"
	resp, err := c.Do(r)
	if err == nil {
		_ = resp.Body.Close()
	}
	wantRefusal(t, err, OtherOrigin)
}

// Spellings of one origin are one origin, and one spelling goes out.
func TestSpellings(t *testing.T) {
	s := record(t, httptest.NewTLSServer, func(http.ResponseWriter, *http.Request) {})
	n := &network{server: s.Listener.Addr().String(), names: map[string][][]string{"example.com": {{"8.8.8.8"}}}}
	for _, origin := range []string{"https://example.com", "HTTPS://EXAMPLE.com.:443/x", "https://Example.Com:/"} {
		c := n.client(t, origin, trust(s.Server))
		for _, target := range []string{"https://example.com/a", "https://EXAMPLE.COM:443/b", "https://example.com./c"} {
			if _, err := get(t, c, target); err != nil {
				t.Errorf("%s for %s: %v", target, origin, err)
			}
		}
	}
	if got := s.requests(); len(got) != 9 {
		t.Errorf("the server saw %d requests, want 9", len(got))
	}
	for _, r := range s.requests() {
		if r.Host != "example.com" || r.TLS.ServerName != "example.com" {
			t.Errorf("the server saw Host %q and name %q", r.Host, r.TLS.ServerName)
		}
	}
}

func TestRedirectsWithinTheOrigin(t *testing.T) {
	s := record(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
		var left, status int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d/%d", &status, &left); err != nil {
			t.Error(err)
		}
		if left > 0 {
			w.Header().Set("Location", fmt.Sprintf("/%d/%d", status, left-1))
			w.WriteHeader(status)
			return
		}
		_, _ = io.Copy(w, r.Body)
	})
	n := &network{server: s.Listener.Addr().String()}
	c := n.client(t, s.URL, private)
	for _, status := range []int{307, 308} {
		got, err := send(t, c, http.MethodPost, fmt.Sprintf("%s/%d/5", s.URL, status), "hello")
		if want := (reply{http.MethodPost, "hello"}); err != nil || got != want {
			t.Errorf("%d: got %v, %v; want %v", status, got, err, want)
		}
		_, err = send(t, c, http.MethodPost, fmt.Sprintf("%s/%d/6", s.URL, status), "hello")
		wantRefusal(t, err, BadRedirect)
	}
	for _, status := range []int{301, 302, 303} {
		_, err := send(t, c, http.MethodPost, fmt.Sprintf("%s/%d/1", s.URL, status), "hello")
		wantRefusal(t, err, BadRedirect)
		if _, err := get(t, c, fmt.Sprintf("%s/%d/1", s.URL, status)); err != nil {
			t.Errorf("GET after %d: %v", status, err)
		}
	}
	for _, r := range s.requests() {
		if r.Header.Get("Authorization") == "" {
			t.Errorf("%s was asked without the header", r.URL)
		}
	}
}

// S6: answers are bounded, also those that pretend to be small or to be an event stream.
func TestBodies(t *testing.T) {
	const limit = 1000
	endless := func(w http.ResponseWriter) {
		for range 1000 { // a client that stops ends it sooner
			if _, err := w.Write(bytes.Repeat([]byte("x"), 4096)); err != nil {
				return
			}
		}
	}
	s := record(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/exact":
			fmt.Fprint(w, strings.Repeat("x", limit))
		case "/above":
			fmt.Fprint(w, strings.Repeat("x", limit+1))
		case "/endless":
			endless(w)
		case "/stream":
			w.Header().Set("Content-Type", "Text/Event-Stream; charset=utf-8")
			fmt.Fprint(w, strings.Repeat("x", 10*limit))
		case "/error":
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusInternalServerError)
			endless(w)
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(make([]byte, 10<<20))
			_ = z.Close()
		case "/header":
			w.Header().Set("X-Large", strings.Repeat("x", 2*maxHeader))
		}
	})
	n := &network{server: s.Listener.Addr().String()}
	c := n.client(t, s.URL, private, func(p *Policy) { p.MaxBody = limit })
	for path, want := range map[string]struct {
		size int
		kind Kind
	}{
		"/exact":   {size: limit},
		"/above":   {size: limit, kind: TooLarge},
		"/endless": {size: limit, kind: TooLarge},
		"/error":   {size: limit, kind: TooLarge},
		"/stream":  {size: 10 * limit},
		"/bomb":    {kind: Encoded},
	} {
		got, err := get(t, c, s.URL+path)
		if len(got.body) != want.size {
			t.Errorf("%s: read %d bytes, want %d", path, len(got.body), want.size)
		}
		if want.kind != 0 {
			wantRefusal(t, err, want.kind)
		} else if err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := get(t, c, s.URL+"/header"); err == nil {
		t.Error("headers without end were read")
	}
	for _, r := range s.requests() {
		if got := r.Header.Get("Accept-Encoding"); got != "" {
			t.Errorf("asked for %q", got)
		}
	}
}

// Nothing is remembered: a cookie of one answer is not sent with the next request.
func TestNoCookies(t *testing.T) {
	s := record(t, httptest.NewServer, func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "id", Value: "1"})
	})
	n := &network{server: s.Listener.Addr().String()}
	c := n.client(t, s.URL, private)
	for range 2 {
		if _, err := get(t, c, s.URL); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.requests()[1].Header.Get("Cookie"); got != "" {
		t.Errorf("sent cookie %q", got)
	}
}

// A proxy that the environment names would choose the address in our place.
func TestNoProxy(t *testing.T) {
	g, ok := Client(Policy{Origin: parse(t, "https://mcp.example.com")}).Transport.(*guard)
	if !ok || g.next.Proxy != nil {
		t.Error("the client asks for a proxy")
	}
}

func TestTLS(t *testing.T) {
	start := func(change func(*httptest.Server)) *httptest.Server {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains about us
		change(s)
		s.StartTLS()
		t.Cleanup(s.Close)
		return s
	}
	newest := start(func(s *httptest.Server) { s.EnableHTTP2 = true })
	oldest := start(func(s *httptest.Server) {
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11} //nolint:gosec // the server is the old one
	})

	ask := func(s *httptest.Server, origin string, change ...func(*Policy)) (string, error) {
		n := &network{server: s.Listener.Addr().String(), names: map[string][][]string{"example.com": {{"8.8.8.8"}}, "example.org": {{"8.8.8.8"}}}}
		got, err := get(t, n.client(t, origin, change...), origin)
		return got.body, err
	}
	if got, err := ask(newest, "https://example.com", trust(newest)); err != nil || got != "HTTP/2.0" {
		t.Errorf("got %q, %v; want HTTP/2", got, err)
	}
	if _, err := ask(newest, "https://example.com"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate without an authority: got error %v", err)
	}
	if _, err := ask(newest, "https://example.org", trust(newest)); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of another name: got error %v", err)
	}
	if _, err := ask(oldest, "https://example.com", trust(oldest)); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("TLS 1.1: got error %v", err)
	}
}

// The real thing, with the resolver and the dialer of the system.
func TestClient(t *testing.T) {
	s := record(t, httptest.NewServer, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "here") })
	open := Client(Policy{Origin: parse(t, s.URL), AllowPrivate: true})
	t.Cleanup(open.CloseIdleConnections)
	if _, err := get(t, open, s.URL); err != nil {
		t.Error(err)
	}
	_, err := get(t, Client(Policy{Origin: parse(t, s.URL)}), s.URL)
	wantRefusal(t, err, PrivateAddress)
	_, err = get(t, Client(Policy{}), s.URL)
	wantRefusal(t, err, BadOrigin)
	if len(s.requests()) != 1 {
		t.Errorf("the server saw %d requests, want 1", len(s.requests()))
	}
}

func TestSameOrigin(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"https://example.com", "HTTPS://Example.COM.:443/x?y", true},
		{"http://127.0.0.1:80", "http://[::ffff:127.0.0.1]/", true},
		{"https://[2606:4700::1111]", "https://[2606:4700:0::1111]:443", true},
		{"https://example.com", "http://example.com", false},
		{"https://example.com", "https://example.com:444", false},
		{"https://example.com", "https://a.example.com", false},
		{"https://example.com", "https://example.com@evil.example", false},
		{"https://example.com", "//example.com", false},
		{"/a", "/a", false},
		{"https://", "https://", false},
	} {
		if got := SameOrigin(parse(t, test.a), parse(t, test.b)); got != test.want {
			t.Errorf("%s and %s: %v, want %v", test.a, test.b, got, test.want)
		}
	}
	if SameOrigin(nil, nil) {
		t.Error("nothing has an origin")
	}
}
