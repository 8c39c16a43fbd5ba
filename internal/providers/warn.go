package providers

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/model"
)

// minBudget is the smallest thinking budget that Claude takes, in tokens.
const minBudget = 1024

func (o *opening) warnAboutModel() {
	if o.Provider == "replay" {
		return
	}
	_, listed := model.Lookup(o.Provider, o.Model)
	known := o.known()
	if !listed && known.ContextWindow == 0 {
		meant := ""
		if near := o.near(); near != "" {
			meant = "; did you mean " + strconv.Quote(near) + "?"
		}
		o.warn("the model %q of %s is not in perstack's list, so its context size is unknown%s; describe it in [models.%q] of perstack.toml%s",
			o.Model, o.Provider, o.assumed(known), o.Model, meant)
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

// unknownOutput is the limit for an answer of a Claude model that is not known. The API
// demands a limit; the other providers have a default.
const unknownOutput = 4096

func (o *opening) assumed(known model.Known) string {
	if o.Provider != "anthropic" || known.MaxOutputTokens > 0 {
		return ""
	}
	return fmt.Sprintf(", and its answers have at most %d tokens besides its reasoning", unknownOutput)
}

// near is the known model that the user may have meant; "" if users choose the names.
func (o *opening) near() string {
	if o.provider.owns == nil {
		return ""
	}
	var ids []string
	for _, e := range model.Of(o.Provider) {
		ids = append(ids, e.ID)
	}
	return wording.Nearest(o.Model, ids)
}

func (o *opening) isClaude() bool {
	return o.Provider == "anthropic" || o.Provider == "amazon-bedrock" && strings.Contains(o.Model, "anthropic.claude")
}
