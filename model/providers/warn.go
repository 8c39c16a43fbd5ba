package providers

import (
	"strings"

	"github.com/perstack-go/perstack/model"
)

// minBudget is the smallest number of tokens that Claude thinks with.
const minBudget = 1024

// warnAboutModel says what will not be as the user thinks.
func (o *opening) warnAboutModel() {
	if o.Provider == "replay" {
		return
	}
	_, listed := model.Lookup(o.Provider, o.Model)
	known := o.known()
	if !listed && known.ContextWindow == 0 {
		o.warn("the model %q of %s is not known, so neither is how much it can read and write; it is used all the same, and [models.%q] in perstack.toml can tell",
			o.Model, o.Provider, o.Model)
	}
	if o.Reasoning == "" || o.Reasoning.Off() {
		return
	}
	tokens := o.Reasoning.Tokens()
	switch {
	case known.Reasoning == model.ReasoningNone:
		o.warn("the model %q does not think, so a reasoning budget of %s has no effect", o.Model, o.Reasoning)
	case known.Reasoning == model.ReasoningBudget && o.isClaude() && tokens < minBudget:
		o.warn("a reasoning budget of %d tokens is less than Claude can be given; it gets %d", tokens, minBudget)
	}
}

// isClaude reports whether the model is asked as Claude is.
func (o *opening) isClaude() bool {
	return o.Provider == "anthropic" || o.Provider == "amazon-bedrock" && strings.Contains(o.Model, "anthropic.claude")
}
