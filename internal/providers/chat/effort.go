package chat

import (
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// alwaysThinks reports whether a model of DeepSeek cannot be told not to.
func (m *Model) alwaysThinks() bool {
	return m.cfg.Dialect.thinking && m.cfg.Known.Reasoning == "" && strings.Contains(m.cfg.Model, "reasoner")
}

// effort returns the word that asks for as much thought as the budget says; "" is none.
func (m *Model) effort(budget expert.ReasoningBudget) string {
	switch m.cfg.Known.Reasoning {
	case model.ReasoningEffort, model.ReasoningAdaptive:
	case "":
		if !m.cfg.Dialect.openAI || !model.OpenAIThinks(m.cfg.Model) {
			return ""
		}
	default:
		return ""
	}
	word := wire.EffortWord(budget)
	known := m.cfg.Known.Efforts
	switch {
	case word == "", word == "none" && m.cfg.Dialect.thinking: // which has a switch for that
		return ""
	case len(known) > 0:
		return wire.LowerEffort(known, word)
	case word == "none" || word == "minimal":
		// An older model takes none for an error. To say nothing would be no better: it
		// then thinks more than one that is asked for little.
		if takesMinimal(m.cfg.Model) {
			return "minimal"
		}
		return "low"
	}
	return word
}

// takesMinimal reports whether a model is one of the first that knew the word, and of the
// last: what follows gpt-5 says none instead.
func takesMinimal(name string) bool {
	rest, ok := strings.CutPrefix(name, "gpt-5")
	return ok && !strings.HasPrefix(rest, ".") && !strings.Contains(rest, "pro") && !strings.Contains(rest, "codex")
}

// refusesEffort reports whether a request was refused because of how it speaks of effort,
// and may speak of it in another way. Newer models take tools by Chat Completions only
// when they are not asked to think, some only when they are told not to.
func (m *Model) refusesEffort(err error, req *model.Request, asking int32) bool {
	if !m.cfg.Dialect.openAI || m.cfg.Extra.Has("reasoning_effort") || !wire.IsRefused(err, "reasoning_effort") {
		return false
	}
	besideTools := wire.IsRefused(err, "Function tools with reasoning_effort")
	switch asking {
	case asks:
		guessed := m.cfg.Known.Reasoning == "" && m.effort(req.Reasoning) != ""
		return guessed || besideTools
	case omits:
		return besideTools
	}
	return false
}
