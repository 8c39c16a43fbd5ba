package bedrock

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/model/wire"
)

const (
	minBudget    = 1024 // Claude's own
	minAnswer    = 256  // what a thought leaves for the words after it, where room is short
	roomToAnswer = 4096 // and where nothing is known of the model

	// claudeOutput is what every Claude that can think is able to write at the least.
	claudeOutput = 32_000
)

// thinking says how a request asks to think, by fields that are the model's own, and how
// long the answer may be; 0 is what the model allows.
func (m *Model) thinking(req *model.Request, talk []*encoded) (fields wire.Extra, limit int) {
	limit = least(req.MaxTokens, m.cfg.MaxTokens)
	fields = wire.Extra{}
	if req.Reasoning == "" {
		return fields, m.spoken(limit)
	}
	off := req.Reasoning.Off()
	switch m.way() {
	case model.ReasoningBudget:
		if !off && mayThink(talk) {
			return m.budgeted(req.Reasoning, limit)
		}
	case model.ReasoningAdaptive: // which goes on after a turn without a thought
		if off || limit > 0 && limit < minBudget+minAnswer { // there is no room for a thought
			// Some refuse to be told not to think. But where nothing is said of the effort
			// either, it is high: who asks for no thought would get more of it than who asks
			// for little.
			fields["output_config"] = jsontext.Value(`{"effort":` + m.effort(expert.ReasoningNone) + `}`)
			break
		}
		// Some models keep their thoughts to themselves if they are not asked for them.
		fields["thinking"] = jsontext.Value(`{"type":"adaptive","display":"summarized"}`)
		fields["output_config"] = jsontext.Value(`{"effort":` + m.effort(req.Reasoning) + `}`)
	case model.ReasoningEffort:
		switch word := m.effort(req.Reasoning); {
		case m.family != nova:
			fields["reasoning_effort"] = jsontext.Value(word)
		case !off: // which is what Nova is if nothing is said
			if limit > 0 && word == `"high"` {
				word = `"medium"` // with high, Nova refuses every limit
			}
			fields["reasoningConfig"] = jsontext.Value(`{"type":"enabled","maxReasoningEffort":` + word + `}`)
		}
	}
	return fields, m.spoken(limit)
}

// spoken is a limit that is always said to Claude. Where none is, the service cuts its
// answers at 4096 tokens, thoughts included, although it documents another default.
func (m *Model) spoken(limit int) int {
	switch {
	case limit > 0 || m.family != claude:
		return limit
	case m.cfg.Known.MaxOutputTokens > 0:
		return m.cfg.Known.MaxOutputTokens
	case model.ClaudeReasoning(m.cfg.Model) != model.ReasoningNone:
		return claudeOutput
	}
	return 0 // of an old one, which writes no more than that
}

// way is how the model is asked to think. What the user sets by hand is not set twice.
func (m *Model) way() model.Reasoning {
	for _, name := range []string{"thinking", "reasoning_config", "reasoningConfig", "reasoning_effort"} {
		if m.adds.fields.Has(name) {
			return model.ReasoningNone
		}
	}
	switch {
	case m.cfg.Known.Reasoning != "":
		return m.cfg.Known.Reasoning
	case m.family == claude:
		return model.ClaudeReasoning(m.cfg.Model)
	}
	return model.ReasoningNone
}

// budgeted asks for a budget, below a limit. The API refuses a budget that is not below
// the limit; a thought that uses up all of it would be paid for and say nothing.
func (m *Model) budgeted(asked expert.ReasoningBudget, given int) (fields wire.Extra, limit int) {
	budget := max(asked.Tokens(), minBudget)
	limit = least(given, m.cfg.Known.MaxOutputTokens)
	if limit == 0 {
		limit = budget + roomToAnswer
	}
	if budget = min(budget, limit-minAnswer); budget < minBudget {
		return wire.Extra{}, given // there is no room for a thought
	}
	return wire.Extra{"thinking": jsontext.Value(`{"type":"enabled","budget_tokens":` + strconv.Itoa(budget) + `}`)}, limit
}

// effort is the word for a budget, among those that the model knows.
func (m *Model) effort(asked expert.ReasoningBudget) string {
	words := m.cfg.Known.Efforts
	if len(words) == 0 {
		words = []string{"low", "medium", "high"}
	}
	word, instead := "high", len(words)-1
	switch n := asked.Tokens(); {
	case asked.Off():
		word = words[0] // the least there is
	case slices.Contains(words, asked.String()):
		word = asked.String()
	case n <= 2048:
		word, instead = "low", 0
	case n <= 5000:
		word, instead = "medium", len(words)/2
	}
	if !slices.Contains(words, word) {
		word = words[instead]
	}
	return string(wire.Quote(word))
}

// mayThink reports whether the conversation can go on with thinking. A turn that used
// tools without a thought before, because thinking was off or the thought was another
// model's, must be ended without: Claude refuses it otherwise.
func mayThink(talk []*encoded) bool {
	turns := merge(talk)
	for i := len(turns) - 1; i >= 0; i-- {
		switch first := turns[i][0]; {
		case first.role == roleUser && hasQuery(turns[i]):
			return true // nothing was answered since
		case first.role == roleAssistant && (i == 0 || hasQuery(turns[i-1])):
			return first.thinks
		}
	}
	return true
}

// hasQuery reports whether a user's turn says more than what tools returned.
func hasQuery(turn []*encoded) bool {
	return slices.ContainsFunc(turn, func(e *encoded) bool { return !e.onlyResults })
}

// least is the smaller of two limits, of which 0 is none.
func least(a, b int) int {
	if a <= 0 || b > 0 && b < a {
		return max(b, 0)
	}
	return a
}
