package engine

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// A server that counts far fewer tokens than were sent has cut the conversation.
func TestCutInputIsAWarning(t *testing.T) {
	for name, tt := range map[string]struct {
		provider, query string
		warnings        int
		own             string // provider of the Expert
	}{
		"cut":   {"ollama", strings.Repeat("word ", 4000), 1, ""}, // the bench counts 5 tokens
		"whole": {"ollama", "go", 0, ""},
		// A service that refuses what is too long counts as it likes.
		"a service":            {"anthropic", strings.Repeat("word ", 4000), 0, ""},
		"a server of its own":  {"anthropic", strings.Repeat("word ", 4000), 1, "ollama"},
		"a service of its own": {"ollama", strings.Repeat("word ", 4000), 0, "anthropic"},
	} {
		b := newBench(t, does("read"), says("done"))
		b.provider = tt.provider
		if tt.own != "" {
			b.expert.Provider = &expert.Provider{Name: tt.own}
		}
		if r := b.must(job.Input{Query: tt.query}); r.Status != event.StatusCompleted {
			t.Errorf("%s: ended as %+v", name, r)
		}
		got := 0
		for _, e := range b.events {
			if w, ok := e.Body.(event.LimitWarning); ok && w.Limit == event.LimitInput && w.Used == 5 {
				got++
			}
		}
		if got != tt.warnings {
			t.Errorf("%s: %d warnings, want %d: %s", name, got, tt.warnings, b.trace())
		}
		b.checkJournal()
	}
}
