package wire_test

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
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
		var c wire.Conversation[*word]
		var messages []*event.Message
		var words []*word
		for _, said := range strings.Fields(talk) {
			messages, words = append(messages, &event.Message{}), append(words, &word{said})
		}
		c.Arrange(messages, words, 0)
		got := c.MayThink()
		if got != want {
			t.Errorf("%q: %v", talk, got)
		}
	}
}

type word struct{ said string }

func (w *word) Voice() wire.Voice {
	v := wire.Voice{Role: wire.RoleAssistant, Markable: true, Thinks: w.said == "thinks", OnlyResults: w.said == "return"}
	if w.said == "ask" || w.said == "return" {
		v.Role = wire.RoleUser
	}
	v.Empty = w.said == "nothing"
	return v
}

// The user's own marks come first, as long as one is left for the end.
func TestMarks(t *testing.T) {
	for _, tt := range []struct {
		marks int
		want  string
	}{{0, ""}, {1, "e"}, {2, "a e"}, {4, "a b d e"}, {9, "a b d e"}} {
		var c wire.Conversation[*word]
		var messages []*event.Message
		var words []*word
		for _, said := range []string{"a", "b", "c", "nothing", "d", "e"} {
			m := &event.Message{Type: event.UserMessage, Cache: said != "c" && said != "e"}
			if said == "a" {
				m.Type = event.InstructionMessage
			}
			messages, words = append(messages, m), append(words, &word{said})
		}
		c.Arrange(messages, words, tt.marks)
		var got []string
		for _, w := range append(c.System, c.Talk...) {
			if c.Marked[w] {
				got = append(got, w.said)
			}
		}
		if strings.Join(got, " ") != tt.want || len(c.System) != 1 || len(c.Talk) != 4 || len(c.Turns) != 1 {
			t.Errorf("%d marks: %q, want %q; %d in the system, %d in the talk", tt.marks, got, tt.want, len(c.System), len(c.Talk))
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
