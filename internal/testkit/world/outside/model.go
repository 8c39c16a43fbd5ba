package outside

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/internal/testkit/llm"
)

// A library holds the scripts of model's services, one file a host: <host>.toml. It reads
// them when they are first asked for, so that a test can add one at any time.
type library struct {
	dir string
	mu  sync.Mutex
	of  map[string]*llm.Server
}

func (l *library) find(host string) (*llm.Server, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.of[host]; s != nil {
		return s, nil
	}
	name := filepath.Base(host) + ".toml"
	data, err := os.ReadFile(filepath.Join(l.dir, name))
	if err != nil {
		return nil, err
	}
	script, err := llm.Parse(name, data)
	if err != nil {
		return nil, err
	}
	s := llm.New(script)
	l.of[host] = s
	return s, nil
}

func (l *library) answer(w http.ResponseWriter, r *http.Request, body []byte) {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	server, err := l.find(strings.ToLower(host))
	if err != nil {
		http.Error(w, "no script for "+host+": "+err.Error(), http.StatusNotFound)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	server.ServeHTTP(w, r)
}
