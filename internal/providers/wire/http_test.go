package wire

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/egress"
)

// A gateway leads to the server of a network, or answers with a status of its own. It writes
// down what it was asked.
type gateway struct {
	to     string
	status int
	reason string
	asked  []string
}

func (d *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.asked = append(d.asked, r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization"))
	if d.status != 0 {
		w.Header().Set(reasonHeader, d.reason)
		w.WriteHeader(d.status)
		return
	}
	far, err := net.Dial("tcp", d.to)
	if err != nil {
		return
	}
	defer far.Close()
	near, early, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer near.Close()
	_, _ = io.WriteString(near, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(far, early); far.Close() }()
	_, _ = io.Copy(near, far)
}

func startGateway(t *testing.T, d *gateway) *url.URL {
	t.Helper()
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("perstack", "hunter22")
	return u
}

var hunter = "Basic " + base64.StdEncoding.EncodeToString([]byte("perstack:hunter22"))

// Through a gateway goes all that is encrypted, and nothing else goes anywhere, not even to
// this machine. No other proxy is asked.
func TestEgressProxyIsTheOnlyWay(t *testing.T) {
	n := newNetwork(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != "" {
			t.Error("the server was told the password of the gateway")
		}
	})
	d := &gateway{to: n.server.Listener.Addr().String()}
	client := HTTPOptions{
		Egress: startGateway(t, d),
		Roots:  n.server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs,
		Proxy:  func(*http.Request) (*url.URL, error) { return nil, errors.New("another proxy was asked") },
	}.Client()
	here := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("%s %s", r.Method, r.URL) }))
	defer here.Close()
	get := func(address string) error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	}
	if err := get("https://example.com/"); err != nil || len(d.asked) != 1 || d.asked[0] != "CONNECT example.com:443 "+hunter {
		t.Errorf("%v, asked %q", err, d.asked)
	}
	for _, plain := range []string{here.URL, "http://example.com/", "http://metadata.google.internal/"} {
		if err := get(plain); !errors.Is(err, errPlain) || len(d.asked) != 1 {
			t.Errorf("%s: %v, asked %q", plain, err, d.asked)
		}
	}
}

// What a gateway says passes or not as what a proxy says, and is about no variable of the
// user's.
func TestEgressProxyRefuses(t *testing.T) {
	for _, tt := range []struct {
		status int
		reason string
		final  bool
		want   string
	}{
		{403, egress.ReasonDomain, true, refusedHint},
		{403, "", true, refusedHint},
		{407, egress.ReasonToken, true, refusedHint},
		{429, egress.ReasonLimit, false, refusedHint},
		{502, egress.ReasonResolve, false, nameHint},
		{502, egress.ReasonUnreached, false, silentHint},
		{503, "a word of its own", false, refusedHint},
	} {
		client := HTTPOptions{Egress: startGateway(t, &gateway{status: tt.status, reason: tt.reason})}.Client()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://example.com/", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Do(request) //nolint:bodyclose // there is none
		if hint, got := Unreachable(err); got != tt.final || hint != tt.want || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%d %s: %v, final %t, hint %q", tt.status, tt.reason, err, got, hint)
		}
	}
}

// Where a gateway is the only way, downloads are requested by their names, which cannot be
// looked up here; the name itself is still checked.
func TestFetchByName(t *testing.T) {
	n := newNetwork(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, pngBytes) })
	d := &gateway{to: n.server.Listener.Addr().String()}
	fetcher := func(d *gateway) *Fetcher {
		return &Fetcher{
			ByName: true,
			HTTP:   HTTPOptions{Egress: startGateway(t, d), Roots: n.server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}.Client(),
			lookUp: func(_ context.Context, name string) ([]netip.Addr, error) {
				t.Errorf("%s was looked up", name)
				return nil, errors.New("no answer")
			},
		}
	}
	f := fetcher(d)
	if m, err := f.Fetch(t.Context(), "https://example.com/a.png"); err != nil || m.Type != "image/png" {
		t.Fatalf("%+v, %v", m, err)
	}
	if len(d.asked) != 1 || d.asked[0] != "CONNECT example.com:443 "+hunter {
		t.Errorf("asked %q", d.asked)
	}
	for _, address := range []string{"https://10.0.0.7/", "https://localhost/", "https://metadata.google.internal/", "http://example.com/", "https://me:pw@example.com/"} {
		if _, err := f.Fetch(t.Context(), address); err == nil || len(d.asked) != 1 {
			t.Errorf("%s: %v, asked %q", address, err, d.asked)
		}
	}
	refuses := &gateway{status: http.StatusForbidden}
	_, err := fetcher(refuses).Fetch(t.Context(), "https://example.com/a.png")
	if err == nil || err.Error() != "the proxy does not lead to its server" || len(refuses.asked) != 1 {
		t.Errorf("%v, asked %q", err, refuses.asked)
	}
	if _, err := (&Fetcher{ByName: true, HTTP: HTTPOptions{}.Client()}).Fetch(t.Context(), "https://example.com/"); err == nil || err.Error() != "there is no way to its server" {
		t.Errorf("without a gateway: %v", err)
	}
}
