package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const pngBytes = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"

// network is one that a test makes up: names, and servers behind any address.
type network struct {
	names  map[string][]string // addresses of a name; a list of them for each look-up, by |
	server *httptest.Server    // behind every address that is not dead
	dead   string

	mu      sync.Mutex
	lookUps []string
	dials   []string
}

func (n *network) lookUp(_ context.Context, name string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lookUps = append(n.lookUps, name)
	found := n.names[strings.TrimSuffix(name, ".")]
	if len(found) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	answer := found[0]
	if len(found) > 1 {
		n.names[strings.TrimSuffix(name, ".")] = found[1:]
	}
	var addrs []netip.Addr
	for text := range strings.SplitSeq(answer, " ") {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	return addrs, nil
}

func (n *network) connect(ctx context.Context, kind, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dials = append(n.dials, address)
	n.mu.Unlock()
	if n.dead != "" && strings.HasPrefix(address, n.dead) {
		return nil, errors.New("no route to " + address + " through http://user:hunter22@proxy.corp")
	}
	return (&net.Dialer{}).DialContext(ctx, kind, n.server.Listener.Addr().String())
}

// fetcher reaches the network, and trusts its server, which calls itself example.com.
func (n *network) fetcher() *Fetcher {
	return &Fetcher{HTTP: n.server.Client(), lookUp: n.lookUp, connect: n.connect}
}

const public = "93.184.216.34"

func newNetwork(t *testing.T, handler http.HandlerFunc) *network {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of clients that do not trust it
	server.StartTLS()
	t.Cleanup(server.Close)
	return &network{names: map[string][]string{"example.com": {public}}, server: server}
}

func sending(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, body)
	}
}

func TestFetch(t *testing.T) {
	var seen *http.Request
	n := newNetwork(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		sending("text/html", pngBytes)(w, r)
	})
	f := n.fetcher()
	f.HTTP.Jar = cookies{}
	for range 2 {
		m, err := f.Fetch(t.Context(), "https://example.com/a.png?b=1#c")
		if err != nil || m.Type != "image/png" || m.Data != base64.StdEncoding.EncodeToString([]byte(pngBytes)) || m.URL != "" {
			t.Fatalf("%+v, %v", m, err)
		}
	}
	if seen.Host != "example.com" || seen.RequestURI != "/a.png?b=1" || seen.Method != http.MethodGet || seen.Header.Get("Accept-Encoding") != "identity" {
		t.Errorf("%s %s %s %v", seen.Method, seen.Host, seen.RequestURI, seen.Header)
	}
	for _, name := range []string{"Cookie", "Authorization", "Referer", "Proxy-Authorization"} {
		if got := seen.Header.Get(name); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	// The dot keeps the machine's search list out.
	if !slices.Equal(n.lookUps, []string{"example.com.", "example.com."}) || !slices.Equal(n.dials, []string{public + ":443", public + ":443"}) {
		t.Errorf("looked up %q, dialled %q", n.lookUps, n.dials)
	}
}

// cookies is a jar that has one for everybody.
type cookies struct{}

func (cookies) SetCookies(*url.URL, []*http.Cookie) {}
func (cookies) Cookies(*url.URL) (all []*http.Cookie) {
	return []*http.Cookie{{Name: "key", Value: "v"}}
}

// None of these is dialled at all.
func TestFetchRefusesAddresses(t *testing.T) {
	const notPublic, notHTTPS, notWeb, password = "not a public one", "not https", "not one of the web", "a password"
	for address, want := range map[string]string{
		"https://127.0.0.1/": notPublic, "https://[::1]/": notPublic, "https://[::ffff:127.0.0.1]/": notPublic, "https://localhost/": notPublic,
		"https://a.localhost/": notPublic, "https://10.1.2.3/": notPublic, "https://172.31.0.1/": notPublic, "https://192.168.0.1/": notPublic,
		"https://169.254.169.254/latest/meta-data": notPublic, "https://[fe80::1]/": notPublic, "https://[fd00::1]/": notPublic, "https://100.64.0.1/": notPublic,
		"https://224.0.0.1/": notPublic, "https://[ff02::1]/": notPublic, "https://0.0.0.0/": notPublic, "https://[64:ff9b::7f00:1]/": notPublic,
		"https://0x7f.1/": notPublic, "https://2130706433/": notPublic, "https://017700000001/": notPublic, "https://metadata.google.internal/": notPublic,
		"https://intranet/": notPublic, "https://private.example/": notPublic, "https://both.example/": notPublic, "https://mapped.example/": notPublic, "https://private.example./": notPublic,
		"http://example.com/": notHTTPS, "http://127.0.0.1/": notHTTPS, "ftp://example.com/": notWeb, "file:///etc/passwd": notWeb, "https:///x": notWeb, "//example.com/": notWeb,
		"https:example.com": notWeb, "https://exa mple.com/": notWeb, "https://１２７.0.0.1/": notWeb, "": notWeb, "https://u:p@example.com/": password, "https://u@example.com/": password,
		"https://example.com/" + strings.Repeat("a", 9000): notWeb, "https://nobody.example/": "is not known",
	} {
		n := newNetwork(t, sending("image/png", pngBytes))
		n.names["private.example"] = []string{"10.0.0.7"}
		n.names["both.example"] = []string{public + " 10.0.0.7"}
		n.names["mapped.example"] = []string{"::ffff:169.254.169.254"}
		m, err := n.fetcher().Fetch(t.Context(), address)
		if err == nil || !strings.Contains(err.Error(), want) || len(n.dials) > 0 {
			t.Errorf("%.60s: %+v, %v, dialled %q; want %s", address, m, err, n.dials, want)
		}
	}
}

// A name whose answers change is looked up once.
func TestFetchDialsWhatWasDecided(t *testing.T) {
	n := newNetwork(t, sending("image/png", pngBytes))
	n.names["example.com"] = []string{public, "127.0.0.1"}
	if _, err := n.fetcher().Fetch(t.Context(), "https://example.com:8443/"); err != nil {
		t.Fatal(err)
	}
	if len(n.lookUps) != 1 || !slices.Equal(n.dials, []string{public + ":8443"}) {
		t.Errorf("looked up %q, dialled %q", n.lookUps, n.dials)
	}
}

func TestFetchTriesFurtherAddresses(t *testing.T) {
	n := newNetwork(t, sending("image/png", pngBytes))
	n.names["example.com"] = []string{"2606:2800::1 " + public}
	n.dead = "[2606"
	if _, err := n.fetcher().Fetch(t.Context(), "https://example.com/"); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(n.dials, []string{"[2606:2800::1]:443", public + ":443"}) {
		t.Errorf("dialled %q", n.dials)
	}
	n.names["example.com"] = []string{strings.TrimSpace(strings.Repeat("2606:2800::1 ", 50))}
	n.dials = nil
	if _, err := n.fetcher().Fetch(t.Context(), "https://example.com/"); err == nil || len(n.dials) != maxAddresses {
		t.Errorf("%v, dialled %q", err, n.dials)
	}
}

// What the network says is not for a model.
func TestFetchErrorsAreForAnyone(t *testing.T) {
	n := newNetwork(t, nil)
	n.dead = public
	_, err := n.fetcher().Fetch(t.Context(), "https://example.com/?key=abc")
	if err == nil || err.Error() != "its server could not be reached, or broke off" {
		t.Error(err)
	}
	f := n.fetcher()
	n.dead, f.HTTP = "", nil // which trusts the authorities of this machine alone
	if _, err := f.Fetch(t.Context(), "https://example.com/"); err == nil || err.Error() != "the certificate of its server is not trusted" {
		t.Error(err)
	}
	n.names["another.example"] = []string{public}
	if _, err := n.fetcher().Fetch(t.Context(), "https://another.example/"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of another name: %v", err)
	}
}

func TestFetchRedirects(t *testing.T) {
	for path, want := range map[string]string{
		"/3": "", "/4": "more than 3 times", "/to?https://10.0.0.7/": "not a public one", "/to?https://private.example/": "not a public one",
		"/to?http://example.com/": "not https", "/to?https://u:p@example.com/": "a password", "/to?file:///etc/passwd": "not one of the web", "/to?": "leads nowhere",
		"/to?https://other.example.com/0": "", "/to?/0": "", "/to?0": "",
	} {
		n := newNetwork(t, func(w http.ResponseWriter, r *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
			if r.Header.Get("Cookie")+r.Header.Get("Referer") != "" {
				t.Errorf("%v", r.Header)
			}
			switch {
			case r.URL.Path == "/0":
				io.WriteString(w, pngBytes)
			case r.URL.Path == "/to":
				w.Header().Set("Location", r.URL.RawQuery)
				w.WriteHeader(http.StatusFound)
			default:
				w.Header().Set("Location", "https://example.com/"+string(r.URL.Path[1]-1))
				w.WriteHeader(http.StatusTemporaryRedirect)
			}
		})
		n.names["private.example"] = []string{"10.0.0.7"}
		n.names["other.example.com"] = []string{public}
		_, err := n.fetcher().Fetch(t.Context(), "https://example.com"+path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
		for _, dialled := range n.dials {
			if dialled != public+":443" {
				t.Errorf("%s: dialled %s", path, dialled)
			}
		}
	}
}

func TestFetchRefusesBodies(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	io.WriteString(w, pngBytes)
	w.Close()
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"too long, and it says so": {sending("image/png", pngBytes+strings.Repeat("a", 1000)), "more than 1000 bytes"},
		"without an end": {func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := io.WriteString(w, strings.Repeat(pngBytes, 100)); err != nil {
					return
				}
			}
		}, "more than 1000 bytes"},
		"packed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(packed.Bytes())
		}, "sent it compressed"},
		"empty":        {sending("image/png", ""), "empty"},
		"blank":        {sending("text/plain", " \n"), "empty"},
		"not there":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, "answered 404"},
		"a part of it": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusPartialContent) }, "answered 206"},
		"broken off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "500")
			io.WriteString(w, pngBytes)
		}, "broke off"},
		"a head without an end": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Long", strings.Repeat("a", 100<<10))
		}, "broke off"},
		"silent": {func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			panic(http.ErrAbortHandler) // to return would be an answer
		}, "took too long"},
	} {
		f := newNetwork(t, test.handler).fetcher()
		f.maxBytes = 1000
		if name == "silent" {
			f.timeout = 50 * time.Millisecond
		}
		m, err := f.Fetch(t.Context(), "https://example.com/")
		if err == nil || !strings.Contains(err.Error(), test.want) || m != (Medium{}) && test.want != "empty" {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

// What bytes show counts; what would show it and does not, is not believed.
func TestFetchedKinds(t *testing.T) {
	for _, tt := range []struct{ body, declared, want string }{
		{pngBytes, "text/html", "image/png"},
		{"%PDF-1.7", "application/octet-stream", TypePDF},
		{"<html>Please log in", "image/png", TypePlain},
		{"<html>Please log in", "text/html; charset=utf-8", "text/html"},
		{"a,b", "text/csv", "text/csv"},
		{`{"a":1}`, "application/json", TypePlain},
		{"PK\x03\x04\x00", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		{"\x00\x01", "image/png", "application/octet-stream"},
		{"\x00\x01", "text/plain", "application/octet-stream"},
		{"\x00\x01", "", "application/octet-stream"},
		{"\x00\x01", "nonsense;;", "application/octet-stream"},
	} {
		m, err := newNetwork(t, sending(tt.declared, tt.body)).fetcher().Fetch(t.Context(), "https://example.com/")
		if err != nil || m.Type != tt.want || strings.HasPrefix(tt.want, "text/") != (m.Text == tt.body) {
			t.Errorf("%q as %q: %+v, %v", tt.body, tt.declared, m, err)
		}
	}
}

// A proxy is told the address that was decided, not the name, and its password is for it
// alone.
func TestFetchThroughProxy(t *testing.T) {
	var seen http.Header
	n := newNetwork(t, func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header
		io.WriteString(w, pngBytes)
	})
	var asked, login string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, login = r.Method+" "+r.RequestURI, r.Header.Get("Proxy-Authorization")
		far, err := net.Dial("tcp", n.server.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		defer far.Close()
		near, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer near.Close()
		io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n")
		done := make(chan struct{})
		go func() { io.Copy(far, near); far.(*net.TCPConn).CloseWrite(); close(done) }()
		io.Copy(near, far)
		near.Close()
		<-done
	}))
	defer proxy.Close()
	u, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("me", "hunter22")
	var named string
	client := NewHTTPClient(func(r *http.Request) (*url.URL, error) { named = r.URL.Host; return u, nil })
	client.Transport.(*http.Transport).TLSClientConfig = n.server.Client().Transport.(*http.Transport).TLSClientConfig
	f := &Fetcher{HTTP: client, lookUp: n.lookUp}
	if m, err := f.Fetch(t.Context(), "https://example.com/a"); err != nil || m.Type != "image/png" {
		t.Fatalf("%+v, %v", m, err)
	}
	if asked != "CONNECT "+public+":443" || named != "example.com" || login == "" || seen.Get("Proxy-Authorization") != "" {
		t.Errorf("asked %q with %q, chosen for %q; the server saw %v", asked, login, named, seen)
	}
	asked = ""
	if _, err := f.Fetch(t.Context(), "https://10.0.0.7/"); err == nil || asked != "" {
		t.Errorf("%v, asked %q", err, asked)
	}
}
