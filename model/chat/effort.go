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

// isReasoner reports whether a model of Azure thinks before it answers. A deployment may
// have any name; only those of models that do not think are known for sure.
func (m *Model) isReasoner() bool {
	for _, prefix := range []string{"gpt-3", "gpt-4", "chatgpt-4o", "gpt-5-chat"} {
		if strings.HasPrefix(m.cfg.Model, prefix) {
			return false
		}
	}
	return true
}

// alwaysThinks reports whether a model of DeepSeek cannot be told not to.
func (m *Model) alwaysThinks() bool {
	return m.cfg.Dialect == DeepSeek && m.cfg.Known.Reasoning == "" && strings.Contains(m.cfg.Model, "reasoner")
}

// effort returns the word that asks for as much thought as the budget says; "" is none.
func (m *Model) effort(budget expert.ReasoningBudget) string {
	switch m.cfg.Known.Reasoning {
	case model.ReasoningEffort, model.ReasoningAdaptive:
	case "":
		if m.cfg.Dialect != Azure || !m.isReasoner() {
			return ""
		}
	default:
		return ""
	}
	word := effortOf(budget)
	known := m.cfg.Known.Efforts
	switch {
	case word == "":
		return ""
	case len(known) > 0:
		return nearest(known, word)
	case word == "none":
		return "" // what an older model takes for an error
	case word == "minimal" && !takesMinimal(m.cfg.Model):
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
		return "" // nobody said anything
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
// higher: less thought costs less than was allowed. That a model shall not think is said
// by its own word or not at all.
func nearest(known []string, word string) string {
	if slices.Contains(known, word) {
		return word
	}
	if word == "none" {
		return ""
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

// guessesEffort reports whether a request asks for an effort because of the model's name
// alone, which may mislead.
func (m *Model) guessesEffort(req *model.Request) bool {
	return !m.effortless.Load() && m.cfg.Known.Reasoning == "" && !m.cfg.Extra.Has("reasoning_effort") && m.effort(req.Reasoning) != ""
}

// isAboutEffort reports whether a request was refused because it asks for an effort.
func isAboutEffort(err error) bool {
	var failed *model.Error
	return errors.As(err, &failed) && failed.StatusCode == http.StatusBadRequest && strings.Contains(failed.Message, "reasoning_effort")
}
