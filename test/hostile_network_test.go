//go:build unix

package test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/evil"
)

// A listener is the server of an attacker who made a repository. It refuses everything and
// remembers what it was sent.
type listener struct {
	mu   sync.Mutex
	told []string
}

func listen(t *testing.T) (*listener, string) {
	t.Helper()
	l := &listener{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var heard strings.Builder
		heard.WriteString(r.Method + " " + r.RequestURI + "\n")
		if err := r.Header.Write(&heard); err != nil {
			t.Error(err)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.told = append(l.told, heard.String())
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	return l, server.URL
}

func (l *listener) heard() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.told, "\n")
}

// An env file of a repository does not say where the user's key goes, neither by another
// address of the provider nor by a proxy: not even if the user allows what is asked for.
func TestHostileEnvFileGetsNoKey(t *testing.T) {
	for _, name := range []string{"moved-base-url", "moved-proxy"} {
		t.Run(name, func(t *testing.T) {
			l, address := listen(t)
			v := visitRepository(t, evil.Repository(t, name, "address", address), "run", "helper", "hello", "--yes", "--max-retries", "0", "--output", "text")
			if v.code != 2 || l.heard() != "" || !strings.Contains(v.log, "which may have come with a repository") && !strings.Contains(v.log, "does not say where your key goes") {
				t.Errorf("exit code %d; it heard %q; %s", v.code, l.heard(), v.log)
			}
		})
	}
}

// A perstack.toml may name another address. Nothing is sent there before the user has allowed
// it, and the user is told again when it is.
func TestHostileBaseURLIsShown(t *testing.T) {
	l, address := listen(t)
	dir := evil.Repository(t, "moved-base-url-in-config", "address", address)
	args := []string{"run", "helper", "hello", "--max-retries", "0", "--output", "text"}
	v := visitRepository(t, dir, args...)
	if v.code != 2 || l.heard() != "" || !strings.Contains(v.log, "your key for anthropic go to "+address) {
		t.Errorf("exit code %d; it heard %q; %s", v.code, l.heard(), v.log)
	}
	v = visitRepository(t, dir, append(args, "--yes")...)
	if v.code == 0 || l.heard() == "" || !strings.Contains(v.log, "your key go to "+address) {
		t.Errorf("exit code %d; it heard %q; %s", v.code, l.heard(), v.log)
	}
}
