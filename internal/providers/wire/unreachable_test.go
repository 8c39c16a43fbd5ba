package wire_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/providers/wire"
)

const (
	aboutRoots = "; set PERSTACK_CA_CERTS to a file with your company's certificates"
	aboutProxy = "; check the proxy, which PERSTACK_PROXY_URL or HTTPS_PROXY names"
	aboutName  = "; check the network connection; if it works, check the base URL, region, location or resource name"
)

// secure starts a server that speaks TLS, and returns the authority of its certificate.
func secure(t *testing.T) (*httptest.Server, *x509.CertPool) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { sse(w, "data: {}\n\n") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it says what clients think of its certificate
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return server, roots
}

// refuse asks, and returns what is wrong: whether it is final, and the error's words.
func refuse(t *testing.T, base string, client *http.Client) (final bool, words string) {
	t.Helper()
	c := &wire.Client{Provider: "acme", BaseURL: base, HTTP: client, NoServer: "start it"}
	_, err := c.Post(t.Context(), "/chat", nil, []byte("{}"))
	e := asError(t, err)
	if e.StatusCode != 0 || !strings.HasPrefix(e.Message, "cannot connect to acme: ") {
		t.Errorf("%+v", e)
	}
	return !e.Retryable, e.Message
}

// A server whose certificate is not right today has none that is in a minute.
func TestCertificates(t *testing.T) {
	server, roots := secure(t)
	trusting := func() *http.Client { return wire.HTTPOptions{Roots: roots}.Client() }
	late := trusting()
	late.Transport.(*http.Transport).TLSClientConfig.Time = func() time.Time { return server.Certificate().NotAfter.Add(time.Hour) }
	odd := trusting()
	odd.Transport.(*http.Transport).TLSClientConfig.VerifyConnection = func(tls.ConnectionState) error {
		return &tls.CertificateVerificationError{Err: errors.New("as some systems word it")}
	}
	for name, tt := range map[string]struct {
		host   string
		client *http.Client
		want   string
	}{
		"unknown authority": {"127.0.0.1", wire.HTTPOptions{Roots: x509.NewCertPool()}.Client(), aboutRoots},
		"another name":      {"localhost", trusting(), "; check the base URL: the server there has a certificate for another name"},
		"expired":           {"127.0.0.1", late, "; check the clock of this machine, or ask the operator of the server to renew its certificate"},
		"any other":         {"127.0.0.1", odd, aboutRoots},
	} {
		base := strings.Replace(server.URL, "127.0.0.1", tt.host, 1)
		if final, words := refuse(t, base, tt.client); !final || !strings.HasSuffix(words, tt.want) {
			t.Errorf("%s: final is %v: %s", name, final, words)
		}
	}
	c := &wire.Client{Provider: "acme", BaseURL: server.URL, HTTP: trusting()}
	stream, err := c.Post(t.Context(), "/chat", nil, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	stream.Close()
}

// A proxy that does not let us pass is a setting that is wrong, unless it says that it may
// do so later.
func TestProxyRefuses(t *testing.T) {
	server, roots := secure(t)
	through := func(address string) *http.Client {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return wire.HTTPOptions{Roots: roots, Proxy: http.ProxyURL(u)}.Client()
	}
	for status, final := range map[int]bool{407: true, 403: true, 400: true, 429: false, 502: false, 503: false} {
		proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		defer proxy.Close()
		got, words := refuse(t, server.URL, through(strings.Replace(proxy.URL, "://", "://me:password@", 1)))
		if got != final || !strings.HasSuffix(words, fmt.Sprintf("the proxy answered %d %s", status, http.StatusText(status))+aboutProxy) || strings.Contains(words, "password") {
			t.Errorf("%d: final is %v: %s", status, got, words)
		}
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	if final, words := refuse(t, server.URL, through(gone.URL)); !final || !strings.HasSuffix(words, aboutProxy) {
		t.Errorf("no server: final is %v: %s", final, words)
	}
}

// What the network says, as the system words it.
func TestNoAnswer(t *testing.T) {
	missing := &net.DNSError{Err: "no such host", Name: "acme.example", IsNotFound: true}
	asleep := &net.DNSError{Err: "server misbehaving", Name: "acme.example", IsTemporary: true}
	for name, tt := range map[string]struct {
		dial  error
		proxy bool
		final bool
		want  string // what the error ends with
	}{
		"no such name":           {missing, false, false, aboutName},
		"a name for now":         {asleep, false, false, aboutName},
		"no such proxy":          {missing, true, false, aboutProxy},
		"a proxy for now":        {asleep, true, false, aboutProxy},
		"a proxy that is silent": {errors.New("i/o timeout"), true, false, aboutProxy},
		"reset":                  {errors.New("connection reset by peer"), false, false, "connection reset by peer"},
	} {
		options := wire.HTTPOptions{}
		if tt.proxy {
			options.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.example:3128"})
		}
		client := options.Client()
		client.Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: tt.dial}
		}
		if final, words := refuse(t, "https://acme.example", client); final != tt.final || !strings.HasSuffix(words, tt.want) {
			t.Errorf("%s: final is %v: %s", name, final, words)
		}
	}
}

// Where nothing listens on this machine, nothing will until the user starts it.
func TestNothingListens(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	if final, words := refuse(t, gone.URL, wire.NewHTTPClient(nil)); !final || !strings.HasSuffix(words, "; start it") {
		t.Errorf("final is %v: %s", final, words)
	}
	rude := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer rude.Close()
	if final, words := refuse(t, rude.URL, wire.NewHTTPClient(nil)); final || strings.Contains(words, "start it") {
		t.Errorf("final is %v: %s", final, words)
	}
}
