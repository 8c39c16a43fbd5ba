package chat

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
)

// efforts are the words that the APIs have, from little to much.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

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
	word := effortOf(budget)
	known := m.cfg.Known.Efforts
	switch {
	case word == "", word == "none" && m.cfg.Dialect.thinking: // which has a switch for that
		return ""
	case len(known) > 0:
		return nearest(known, word)
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

// effortOf is the word for a budget, whatever the model knows.
func effortOf(budget expert.ReasoningBudget) string {
	switch tokens := budget.Tokens(); {
	case budget.Off():
		return "none"
	case budget == expert.ReasoningMinimal:
		return "minimal"
	case tokens == 0:
		return "" // the user did not say
	case tokens <= expert.ReasoningLow.Tokens():
		return "low"
	case tokens <= expert.ReasoningMedium.Tokens():
		return "medium"
	}
	return "high"
}

// takesMinimal reports whether a model is one of the first that knew the word, and of the
// last: what follows gpt-5 says none instead.
func takesMinimal(name string) bool {
	rest, ok := strings.CutPrefix(name, "gpt-5")
	return ok && !strings.HasPrefix(rest, ".") && !strings.Contains(rest, "pro") && !strings.Contains(rest, "codex")
}

// nearest returns the word itself if it is known, else the next lower one, else the next
// higher: less thought costs less than was allowed. Of a model that shall not think, but
// has no word for that, the least is asked: if nothing is said, it thinks more.
func nearest(known []string, word string) string {
	if slices.Contains(known, word) {
		return word
	}
	at := slices.Index(efforts, word)
	for i := at - 1; i > 0; i-- {
		if slices.Contains(known, efforts[i]) {
			return efforts[i]
		}
	}
	for _, higher := range efforts[at+1:] {
		if slices.Contains(known, higher) {
			return higher
		}
	}
	return ""
}

// refusesEffort reports whether a request was refused because of how it speaks of effort,
// and may speak of it in another way. Newer models take tools by Chat Completions only
// when they are not asked to think, some only when they are told not to.
func (m *Model) refusesEffort(err error, req *model.Request, asking int32) bool {
	var failed *model.Error
	if !m.cfg.Dialect.openAI || m.cfg.Extra.Has("reasoning_effort") ||
		!errors.As(err, &failed) || failed.StatusCode != http.StatusBadRequest || !strings.Contains(failed.Message, "reasoning_effort") {
		return false
	}
	besideTools := strings.Contains(failed.Message, "Function tools with reasoning_effort")
	switch asking {
	case asks:
		guessed := m.cfg.Known.Reasoning == "" && m.effort(req.Reasoning) != ""
		return guessed || besideTools
	case omits:
		return besideTools
	}
	return false
}
