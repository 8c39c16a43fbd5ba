package anthropic

import (
	"cmp"
	"strconv"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

const (
	minBudget     = 1024 // the API's own
	minAnswer     = 256  // what a thought leaves for the words after it
	unknownOutput = 4096
)

// limits returns the limit of the answer, and the members that say how much of it may be
// spent on thinking. What the user sets by hand is not set a second time.
func (m *Model) limits(req *model.Request, talk *wire.Conversation[*encoded]) (limit int, thinking string) {
	limit, budget := m.budget(req)
	adaptive, effort := m.reasoning() == model.ReasoningAdaptive, ""
	if !m.cfg.Extra.Has("output_config") {
		effort = `,"output_config":{"effort":"` + wire.ClaudeEffort(budget, m.cfg.Known.Efforts) + `"}`
	}
	switch {
	case m.cfg.Extra.Has("thinking"):
		return limit, ""
	case budget == 0 && adaptive && req.Reasoning != "":
		// Whether it thinks is up to the model if thinking is left out, and some refuse to be
		// told not to. But where nothing is said of the effort either, it is high: a
		// request for no thought would get more of it than a request for little.
		return limit, effort
	case adaptive && budget > 0:
		// Some models keep their thoughts to themselves if they are not asked for them.
		return limit, `,"thinking":{"type":"adaptive","display":"summarized"}` + effort
	case budget == 0, !talk.MayThink():
		return limit, ""
	}
	return limit, `,"thinking":{"type":"enabled","budget_tokens":` + strconv.Itoa(budget) + `}`
}

// budget returns the limit of the answer, and what of it may be spent on thinking. The
// API refuses a budget that is not below the limit; a thought that uses up all of it
// would be paid for and say nothing.
func (m *Model) budget(req *model.Request) (limit, budget int) {
	if !req.Reasoning.Off() && m.reasoning() != model.ReasoningNone {
		budget = req.Reasoning.Tokens()
	}
	if budget > 0 {
		budget = max(budget, minBudget)
	}
	limit = m.cfg.MaxTokens
	switch known := m.cfg.Known.MaxOutputTokens; {
	case limit == 0 && known == 0:
		limit = unknownOutput + budget
	case limit == 0, known > 0 && known < limit:
		limit = known
	}
	if req.MaxTokens > 0 {
		limit = min(limit, req.MaxTokens)
	}
	if spare := limit - minAnswer; spare < minBudget {
		budget = 0 // there are no tokens left for a thought
	} else {
		budget = min(budget, spare)
	}
	return limit, budget
}

// reasoning is the way in which the model is asked to think. One of another name, behind
// a gateway, is given a budget.
func (m *Model) reasoning() model.Reasoning {
	switch way := m.cfg.Known.Reasoning; way {
	case model.ReasoningNone, model.ReasoningAdaptive, model.ReasoningBudget:
		return way
	}
	return cmp.Or(model.ClaudeReasoning(m.cfg.Model), model.ReasoningBudget)
}
