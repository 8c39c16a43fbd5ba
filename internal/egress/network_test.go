package egress

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A network is what a client under test sees: names with the answers that they give, one
// after the other, and a server that stands at every public address.
type network struct {
	names  map[string][][]string // the last answer is given again and again
	server string                // where connections really go; "" means nowhere

	mu     sync.Mutex
	asked  []string
	dialed []string
}

func (n *network) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, host)
	host = strings.TrimSuffix(host, ".")
	answers := n.names[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(answers) > 1 {
		n.names[host] = answers[1:]
	}
	var addrs []netip.Addr
	for _, text := range answers[0] {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	return addrs, nil
}

func (n *network) connect(ctx context.Context, kind, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dialed = append(n.dialed, address)
	n.mu.Unlock()
	if n.server == "" {
		return nil, errNowhere
	}
	return (&net.Dialer{}).DialContext(ctx, kind, n.server)
}

var errNowhere = errors.New("nothing listens here")

// dials returns what was dialled since the last call.
func (n *network) dials() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := n.dialed
	n.dialed = nil
	return out
}

func (n *network) lookups() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.asked)
}

// client returns a client for an origin on that network.
func (n *network) client(t testing.TB, origin string, change ...func(*Policy)) *http.Client {
	t.Helper()
	p := Policy{Origin: parse(t, origin), Resolver: n}
	for _, c := range change {
		c(&p)
	}
	c := newClient(p, n.connect)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func private(p *Policy) { p.AllowPrivate = true }

func trust(s *httptest.Server) func(*Policy) {
	return func(p *Policy) {
		p.RootCAs = x509.NewCertPool()
		p.RootCAs.AddCert(s.Certificate())
	}
}

func parse(t testing.TB, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A reply is what came back for a request, after all redirects.
type reply struct {
	method string
	body   string
}

func get(t testing.TB, c *http.Client, target string) (reply, error) {
	t.Helper()
	return send(t, c, http.MethodGet, target, "")
}

// send returns what was read before an error, too.
func send(t testing.TB, c *http.Client, method, target, body string) (reply, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+canary)
	r.Header.Set("X-Api-Key", canary)
	resp, err := c.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return reply{resp.Request.Method, string(got)}, err
}

const canary = "canary-of-the-header"

// wantRefusal checks that it was we who said no, and why.
func wantRefusal(t testing.TB, err error, want ...Kind) {
	t.Helper()
	var refused *Refusal
	if !errors.As(err, &refused) {
		t.Errorf("got error %v, want a refusal", err)
	} else if !slices.Contains(want, refused.Kind) {
		t.Errorf("got refusal %d (%v), want %d", refused.Kind, refused, want)
	}
}

// A recorder is a server that remembers what it was sent.
type recorder struct {
	*httptest.Server
	mu   sync.Mutex
	seen []*http.Request
}

func record(t testing.TB, start func(http.Handler) *httptest.Server, answer http.HandlerFunc) *recorder {
	t.Helper()
	r := &recorder{}
	r.Server = start(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.seen = append(r.seen, req)
		r.mu.Unlock()
		answer(w, req)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *recorder) requests() []*http.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.seen)
}
