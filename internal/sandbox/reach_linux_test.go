package sandbox

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/perstack-go/perstack/internal/egress"
)

// playVisit sends something to each of its arguments, like tcp=127.0.0.1:80, and says what came of
// it. A URL is fetched through the proxy of the environment, with the certificates in ca.pem.
func playVisit(args []string) int {
	for _, arg := range args {
		said, err := visit(arg)
		fmt.Println(arg, said, err)
	}
	return 0
}

func visit(target string) (string, error) {
	if strings.HasPrefix(target, "https://") {
		roots := x509.NewCertPool()
		text, err := os.ReadFile("ca.pem")
		if err != nil || !roots.AppendCertsFromPEM(text) {
			return "", fmt.Errorf("there is no certificate: %w", err)
		}
		client := http.Client{Transport: &http.Transport{
			Proxy:           func(*http.Request) (*url.URL, error) { return url.Parse(os.Getenv("HTTPS_PROXY")) },
			TLSClientConfig: &tls.Config{RootCAs: roots},
		}}
		r, err := client.Get(target)
		if err != nil {
			return "", err
		}
		defer r.Body.Close()
		all, err := io.ReadAll(r.Body)
		return string(all), err
	}
	network, address, _ := strings.Cut(target, "=")
	c, err := net.Dial(network, address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_, err = c.Write([]byte("x"))
	return "sent", err
}

// A hostListener counts what reaches it.
type hostListener struct {
	target string
	count  atomic.Int64
}

func listen(t *testing.T, network, address string) *hostListener {
	t.Helper()
	h := &hostListener{}
	if network == "udp" || network == "unixgram" {
		l, err := net.ListenPacket(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		h.target = network + "=" + l.LocalAddr().String()
		go func() {
			for {
				if _, _, err := l.ReadFrom(make([]byte, 9)); err != nil {
					return
				}
				h.count.Add(1)
			}
		}()
		return h
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	h.target = network + "=" + l.Addr().String()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			h.count.Add(1)
			c.Close()
		}
	}()
	return h
}

// otherAddress is one of this machine that is not of its loopback interface.
func otherAddress() string {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return "127.0.0.1"
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	return "127.0.0.1"
}

// names resolves every name to one public address.
type names struct{}

func (names) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
}

// A program inside reaches no listener of the machine: over TCP, UDP, abstract sockets or sockets
// with a path. The proxy carries TLS to a host that is allowed, and reports one that is not. The
// same program outside reaches all listeners.
func TestInsideReachesNoListener(t *testing.T) {
	short, err := os.MkdirTemp("", "l") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	abstract := "@perstack-test-" + filepath.Base(short)
	listeners := []*hostListener{
		listen(t, "tcp", "127.0.0.1:0"), listen(t, "tcp", otherAddress()+":0"), listen(t, "udp", "127.0.0.1:0"), listen(t, "udp", otherAddress()+":0"),
		listen(t, "unix", abstract), listen(t, "unixgram", abstract+"-packets"), listen(t, "unix", filepath.Join(short, "s")), listen(t, "unixgram", filepath.Join(short, "p")),
	}
	var targets []string
	for _, l := range listeners {
		targets = append(targets, l.target)
	}

	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "over TLS") }))
	defer server.Close()
	c := inside(t, self(t, "visit", append(targets, "https://example.com/", "https://example.org/")...))
	write(t, filepath.Join(c.Dir, "ca.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	c.Policy.Listener = true
	c.Set["HTTPS_PROXY"] = "http://127.0.0.1:3128"
	var mu sync.Mutex
	var decisions []egress.Access
	ended := make(chan error, 1)
	c.Accept = func(l net.Listener) {
		proxy, err := egress.Take(l, egress.Listener{Name: "test", Allow: []string{"example.com"}}, egress.ProxyOptions{
			Resolver: names{},
			Report: func(l egress.Line) error {
				mu.Lock()
				defer mu.Unlock()
				if l.Access != nil {
					decisions = append(decisions, *l.Access)
				}
				return nil
			},
			Connect: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
			},
		})
		if err != nil {
			ended <- err
			return
		}
		go func() { ended <- proxy.Serve(t.Context()) }()
	}
	s := NewSupervisor()
	got := said(t, s, c)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil && !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	for _, l := range listeners {
		if n := l.count.Load(); n != 0 {
			t.Errorf("%s was reached %d times", l.target, n)
		}
	}
	if !strings.Contains(got, "https://example.com/ over TLS <nil>") || strings.Contains(got, "https://example.org/ over TLS") {
		t.Errorf("through the proxy:\n%s", got)
	}
	host := func(name string, allowed bool) func(egress.Access) bool {
		return func(a egress.Access) bool { return a.Host == name && a.Allowed == allowed }
	}
	if len(decisions) != 2 || !slices.ContainsFunc(decisions, host("example.com", true)) || !slices.ContainsFunc(decisions, host("example.org", false)) {
		t.Errorf("the proxy reports %+v", decisions)
	}

	outside := self(t, "visit", targets...)
	said(t, supervisor(t), outside)
	for _, l := range listeners {
		eventually(t, l.target+" is reached outside", func() bool { return l.count.Load() > 0 })
	}
}
