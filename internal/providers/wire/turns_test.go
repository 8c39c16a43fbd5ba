package wire_test

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/providers/wire"
)

// Messages are words: a user asks, tools return, the model thinks and then speaks or only
// speaks.
func TestMayThink(t *testing.T) {
	for talk, want := range map[string]bool{
		"": true, "ask": true, "ask thinks": true, "ask speaks": false,
		"ask thinks return": true, "ask speaks return": false,
		"ask thinks return speaks return": true, "ask speaks return thinks return": false, // the first of a turn counts
		"ask speaks return ask": true, "ask speaks ask thinks return": true, "ask thinks ask speaks return": false,
		"ask speaks return return ask return": true, // adjacent ones are one turn
		"thinks":                              true, "speaks": false,
	} {
		turns := wire.Turns(strings.Fields(talk), func(m string) string {
			if m == "ask" || m == "return" {
				return "user"
			}
			return "model"
		})
		got := wire.MayThink(turns, func(m string) wire.Voice {
			return wire.Voice{User: m == "ask" || m == "return", Thinks: m == "thinks", OnlyResults: m == "return"}
		})
		if got != want {
			t.Errorf("%q: %v", talk, got)
		}
	}
}

func TestClaudeEffort(t *testing.T) {
	for _, tt := range []struct {
		tokens int
		known  string
		want   string
	}{
		{0, "", "low"}, {2048, "", "low"}, {2049, "", "medium"}, {5000, "", "medium"}, {5001, "", "high"},
		{1024, "high", "high"}, {3000, "low high", "high"}, {3000, "a b c", "b"}, {9000, "low max", "max"}, {100, "minimal medium", "minimal"},
	} {
		if got := wire.ClaudeEffort(tt.tokens, strings.Fields(tt.known)); got != tt.want {
			t.Errorf("%d of %q: %q, want %q", tt.tokens, tt.known, got, tt.want)
		}
	}
}
