package wire

import (
	"slices"

	"github.com/perstack-go/perstack/expert"
)

// efforts are the words that APIs have for how much to think, from little to much.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// EffortWord is the word for a budget, whatever a model knows; "" if the user did not say.
func EffortWord(budget expert.ReasoningBudget) string {
	switch tokens := budget.Tokens(); {
	case budget.Off():
		return "none"
	case budget == expert.ReasoningMinimal:
		return "minimal"
	case tokens == 0:
		return ""
	case tokens <= expert.ReasoningLow.Tokens():
		return "low"
	case tokens <= expert.ReasoningMedium.Tokens():
		return "medium"
	}
	return "high"
}

// LowerEffort returns the word if the model knows it, else the next lower one, else the next
// higher: less thought costs less than was allowed. Of a model that shall not think, but has
// no word for that, the least is asked: if nothing is said, it thinks more.
func LowerEffort(known []string, word string) string {
	at := slices.Index(efforts, word)
	for i := at; i >= 0; i-- {
		if slices.Contains(known, efforts[i]) && (i > 0 || word == "none") {
			return efforts[i]
		}
	}
	if higher := HigherEffort(known, word); higher != "none" {
		return higher
	}
	return ""
}

// HigherEffort returns the word if the model knows it, else the next higher one, else the
// highest that the model knows. A word that is no effort counts as the lowest.
func HigherEffort(known []string, word string) string {
	for _, higher := range efforts[max(0, slices.Index(efforts, word)):] {
		if slices.Contains(known, higher) {
			return higher
		}
	}
	return known[len(known)-1]
}

// ClaudeEffort is the word for a number of tokens, among those that a model of Anthropic
// knows, from little to much, or one of the usual three.
func ClaudeEffort(tokens int, known []string) string {
	if len(known) == 0 {
		known = []string{"low", "medium", "high"}
	}
	word, instead := "high", len(known)-1
	switch {
	case tokens <= expert.ReasoningLow.Tokens():
		word, instead = "low", 0
	case tokens <= expert.ReasoningMedium.Tokens():
		word, instead = "medium", len(known)/2
	}
	if slices.Contains(known, word) {
		return word
	}
	return known[instead]
}
