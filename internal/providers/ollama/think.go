package ollama

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// think is how the model is asked to think, as JSON; empty if it is not asked at all.
func (m *Model) think(budget expert.ReasoningBudget) string {
	switch {
	case budget == "", m.thoughtless.Load(), m.config.Extra.Has("think"), m.config.Known.Reasoning == model.ReasoningNone:
		return ""
	case m.thinksInWords():
		return string(wire.Quote(m.word(budget)))
	case budget.Off():
		return "false"
	}
	return "true"
}

// thinksInWords reports whether the model is told how much to think, rather than whether.
// Models of the gpt-oss family do not understand the latter.
func (m *Model) thinksInWords() bool {
	if known := m.config.Known.Reasoning; known != "" {
		return known == model.ReasoningEffort || known == model.ReasoningAdaptive
	}
	name := m.config.Model
	return strings.HasPrefix(name[strings.LastIndex(name, "/")+1:], "gpt-oss")
}

// word is the one for a budget. A model that thinks in words cannot be told not to: what
// comes nearest is the least that it knows.
func (m *Model) word(budget expert.ReasoningBudget) string {
	word := "high"
	switch tokens := budget.Tokens(); {
	case tokens <= expert.ReasoningLow.Tokens():
		word = "low"
	case tokens <= expert.ReasoningMedium.Tokens():
		word = "medium"
	}
	known := m.config.Known.Efforts
	switch {
	case len(known) == 0 || slices.Contains(known, word):
		return word
	case word == "high":
		return known[len(known)-1]
	}
	return known[0]
}

// cannotThink reports whether a call was refused because it asked for thoughts. Servers
// that know no words for them say so too.
func cannotThink(err error) bool {
	var e *model.Error
	if !errors.As(err, &e) || e.StatusCode != http.StatusBadRequest {
		return false
	}
	for _, words := range []string{"does not support thinking", "invalid think value", "ChatRequest.think", "think must be"} {
		if strings.Contains(e.Message, words) {
			return true
		}
	}
	return false
}
