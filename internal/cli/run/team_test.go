package run

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/model"
)

// The tools of the provider that a delegate names are offered to it, and to no other Expert.
func TestDelegateHasItsProviderTools(t *testing.T) {
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	text := "[experts.lead]\ninstruction = 'x'\ndelegates = ['searcher']\n[experts.searcher]\ndescription = 'x'\ninstruction = 'x'\nproviderTools = ['webSearch']\n"
	pl, _, err := makePlan(t, proposal{files: toml(text), environ: []string{"ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=" + server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := runtimes.OpenModel(pl.spec, engine.Parts{Variables: pl.project.variable, Secrets: &pl.opts.Host.Secrets, Log: pl.opts.logger()}, nil)
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
