package providers_test

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/internal/providers/modeltest"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/internal/testkit/world/outside"
)

const notes = "Three open points."

// A internet is all that is beyond the egress proxy: one server that plays every provider under
// every name, and writes down which names it was asked by.
type internet struct {
	*llm.Server
	address string
	roots   []byte // PEM of who vouches for it

	mu    sync.Mutex
	hosts []string
}

func newInternet(t *testing.T) *internet {
	t.Helper()
	certificate, key, err := outside.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	authority, err := outside.ReadAuthority(certificate, key)
	if err != nil {
		t.Fatal(err)
	}
	s := &internet{roots: certificate}
	s.Server, _ = modeltest.Serve(t, "[[turn]]\ntext = \"ok\"\n")
	server := httptest.NewUnstartedServer(s)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		return authority.For(hello.ServerName)
	}}
	server.StartTLS()
	t.Cleanup(server.Close)
	s.address = server.Listener.Addr().String()
	return s
}

func (s *internet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.hosts = append(s.hosts, strings.ToLower(r.TLS.ServerName))
	s.mu.Unlock()
	if r.Method == http.MethodGet {
		_, _ = io.WriteString(w, notes)
		return
	}
	if r.TLS.ServerName == "api.deepseek.com" { // the script knows it by a path
		r.URL.Path = "/deepseek" + r.URL.Path
	}
	s.Server.ServeHTTP(w, r)
}
