package providers_test

import (
	"encoding/base64"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/providers/modeltest"
	"github.com/perstack-go/perstack/model"
)

// tunnels is a proxy that leads every connection to one server, and records which
// hosts were requested.
type tunnels struct {
	to    string
	mu    sync.Mutex
	asked []string
}

func (p *tunnels) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.Host+" "+r.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	there, err := net.Dial("tcp", p.to)
	if err != nil || r.Method != http.MethodConnect {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	defer there.Close()
	here, early, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(there, early); there.Close() }()
	_, _ = io.Copy(here, there)
}

// Every provider is reached through a proxy that wants a password, behind an authority
// that only the user trusts; and so is the server that gives tokens. example.com is whom
// the certificate of httptest is for.
func TestProvidersBehindAProxy(t *testing.T) {
	for _, s := range modeltest.Subjects() {
		t.Run(s.Name, func(t *testing.T) {
			const root = "https://example.com"
			handler, _ := modeltest.Serve(t, "[[turn]]\ntext = \"ok\"\n")
			server := httptest.NewUnstartedServer(handler)
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			server.StartTLS()
			defer server.Close()
			p := &tunnels{to: server.Listener.Addr().String()}
			proxy := httptest.NewServer(p)
			defer proxy.Close()
			env := s.Variables(t, modeltest.Place{Root: root})
			env["PERSTACK_PROXY_URL"] = strings.Replace(proxy.URL, "//", "//me:pass@", 1)
			env["PERSTACK_CA_CERTS"] = filepath.Join(t.TempDir(), "ca.pem")
			certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
			if err := os.WriteFile(env["PERSTACK_CA_CERTS"], certificate, 0o600); err != nil {
				t.Fatal(err)
			}
			m, err := providers.Open(providers.Config{
				Provider: s.Provider, Model: s.Model, Setting: s.Setting, Variables: func(name string) providers.Variable { return providers.Variable{Value: env[name]} },
			})
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := modeltest.Ask(t.Context(), t, m, &model.Request{Messages: modeltest.User(modeltest.Text("Hello"))(nil)})
			if err != nil || got.Text != "ok" {
				t.Fatalf("%+v, %v", got, err)
			}
			want := "CONNECT example.com:443 Basic " + base64.StdEncoding.EncodeToString([]byte("me:pass"))
			for _, asked := range p.asked {
				if asked != want {
					t.Errorf("the proxy was asked %q, want %q", asked, want)
				}
			}
			if all := handler.Requests(); len(p.asked) == 0 || len(all) == 0 || !all[0].KeyRight && s.Provider != "ollama" {
				t.Errorf("asked %d times by way of %q", len(all), p.asked)
			}
		})
	}
}
