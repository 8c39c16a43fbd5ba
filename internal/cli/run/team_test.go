package run

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/model"
)

// The tools of the provider that a delegate names are offered to it, and to nobody else.
func TestDelegateHasItsProviderTools(t *testing.T) {
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	dir := t.TempDir()
	text := "[experts.lead]\ninstruction = 'x'\ndelegates = ['searcher']\n[experts.searcher]\ndescription = 'x'\ninstruction = 'x'\nproviderTools = ['webSearch']\n"
	if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &host.Host{Dir: dir, Stderr: new(bytes.Buffer), Environ: []string{"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=" + server.URL}}
	s, err := loadSetup(&Options{Host: h})
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.model(s.config.Experts[0])
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"lead": false, "searcher": true} {
		said := &event.Message{ID: key, Type: event.UserMessage, Contents: []event.Part{{Type: event.TextPart, Text: "x"}}}
		for range m.Generate(t.Context(), &model.Request{Expert: key, Messages: []*event.Message{said}}) {
		}
		if len(body) == 0 || strings.Contains(string(body), "web_search") != want {
			t.Errorf("that %s is offered web_search is %v: %s", key, !want, body)
		}
	}
}
