package skills

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
)

// refusingProxy starts a proxy that says no, and tells what it was asked.
func refusingProxy(t *testing.T) (address *url.URL, asked <-chan string) {
	t.Helper()
	lines := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lines <- r.Method + " " + r.RequestURI
		http.Error(w, "domain", http.StatusForbidden)
	}))
	t.Cleanup(s.Close)
	address, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return address, lines
}

// connectThrough asks a listener for a host and returns the status of its answer.
func connectThrough(t *testing.T, listener, host string) string {
	t.Helper()
	u, err := url.Parse(listener)
	if err != nil || u.User == nil {
		t.Fatalf("listener %q: %v", listener, err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "CONNECT %[1]s:443 HTTP/1.1\r\nHost: %[1]s:443\r\nProxy-Authorization: Basic %[2]s\r\n\r\n", host,
		base64.StdEncoding.EncodeToString([]byte(u.User.String())))
	r, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	return fmt.Sprint(r.StatusCode)
}

// Without a proxy, programs are told which certificates to accept.
func TestAuthoritiesWithoutAProxy(t *testing.T) {
	const roots = "/etc/roots.crt"
	want := map[string]string{"NODE_EXTRA_CA_CERTS": roots, "SSL_CERT_FILE": roots, "REQUESTS_CA_BUNDLE": roots, "CURL_CA_BUNDLE": roots}
	parts := testParts()
	parts.Container = &engine.Container{Authorities: roots}
	s := (&Site{Parts: parts}).newSet(t.Context(), engine.SkillRequest{Expert: &expert.Expert{Key: "x"}})
	if got := s.proxyVariables("s"); !maps.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
