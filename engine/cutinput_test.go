package engine

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
)

// A server that counts far fewer tokens than were sent has cut the conversation.
func TestCutInputIsAWarning(t *testing.T) {
	for name, tt := range map[string]struct {
		query    string
		cuts     bool
		warnings int
	}{
		"cut":   {strings.Repeat("word ", 4000), true, 1}, // the bench counts 5 tokens
		"whole": {"go", true, 0},
		// A service that refuses what is too long counts as it likes.
		"a service": {strings.Repeat("word ", 4000), false, 0},
	} {
		first, last := does("read"), says("done")
		first.answer.CutsInput, last.answer.CutsInput = tt.cuts, tt.cuts
		b := newBench(t, first, last)
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
