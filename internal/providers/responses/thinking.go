package responses

import (
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// thinking is how a model is asked to think: by a word.
type thinking struct {
	can     bool
	own     bool     // by its name, it is a model of OpenAI's own
	efforts []string // that it knows; empty if that is not known
}

// memberReasoning is the member that says so. A user may write it instead.
const memberReasoning = "reasoning"

func newThinking(cfg *wire.Config) thinking {
	t := thinking{can: model.OpenAIThinks(cfg.Model), own: model.IsOpenAI(cfg.Model), efforts: cfg.Known.Efforts}
	if cfg.Known.Reasoning != "" {
		t.can = cfg.Known.Reasoning != model.ReasoningNone
	}
	return t
}

// isMentioned reports whether a request speaks of thinking. A model that is not known as one of
// OpenAI's may be unable to think, and refuse every word about it: if it shall not, nothing is
// said.
func (t thinking) isMentioned(budget expert.ReasoningBudget) bool {
	return t.can && (!budget.Off() || t.own || len(t.efforts) > 0)
}

// member writes what a request says about thinking. tools says that the provider runs
// tools, which it does not do for a model that thinks as little as possible.
func (t thinking) member(budget expert.ReasoningBudget, tools, summary bool) string {
	if budget.Off() {
		return `,"reasoning":{"effort":` + string(wire.Quote(t.least(tools))) + `}`
	}
	var members []string
	if effort := t.effort(budget, tools); effort != "" {
		members = append(members, `"effort":`+string(wire.Quote(effort)))
	}
	if summary { // or there would be nothing to show of a thought
		members = append(members, `"summary":"auto"`)
	}
	if len(members) == 0 {
		return ""
	}
	return `,"reasoning":{` + strings.Join(members, ",") + `}`
}

// least is the word for no thought, or for as little as there is: what a model does when
// nothing is said is medium, and more than a request for little gets.
func (t thinking) least(tools bool) string {
	for _, word := range t.efforts {
		if word != "minimal" || !tools {
			return word
		}
	}
	return "low" // which every model takes
}

// effort is the word for a budget; empty if nothing was said about it. A word that the
// model does not know becomes the next one up, or else its highest.
func (t thinking) effort(budget expert.ReasoningBudget, tools bool) string {
	word := wire.EffortWord(budget)
	if word == "minimal" && (tools || !slices.Contains(t.efforts, word)) {
		word = "low"
	}
	if word == "" || len(t.efforts) == 0 {
		return word
	}
	return wire.HigherEffort(t.efforts, word)
}
