package bedrock

import (
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

const (
	minBudget    = 1024 // Claude's own
	minAnswer    = 256  // what a thought leaves for the words after it, where tokens are short
	answerTokens = 4096 // and where nothing is known of the model

	// claudeOutput is what every Claude that can think is able to write at the least.
	claudeOutput = 32_000
)

// thinking says how a request asks to think, by fields that are the model's own, and how
// long the answer may be; 0 is what the model allows.
func (m *Model) thinking(req *model.Request, talk *wire.Conversation[*encoded]) (fields wire.Extra, limit int) {
	limit = m.cfg.Limit(req)
	fields = wire.Extra{}
	if req.Reasoning == "" {
		return fields, m.spoken(limit)
	}
	off := req.Reasoning.Off()
	switch m.way() {
	case model.ReasoningBudget:
		if !off && talk.MayThink() {
			return m.budgeted(req.Reasoning, limit)
		}
	case model.ReasoningAdaptive: // which can continue after a turn without a thought
		if off || limit > 0 && limit < minBudget+minAnswer { // there are no tokens left for a thought
			// Some refuse to be told not to think. But where nothing is said of the effort
			// either, it is high: a request for no thought would get more of it than a
			// request for little.
			fields["output_config"] = rawjson.Value(`{"effort":` + m.effort(expert.ReasoningNone) + `}`)
			break
		}
		// Some models keep their thoughts to themselves if they are not asked for them.
		fields["thinking"] = rawjson.Value(`{"type":"adaptive","display":"summarized"}`)
		fields["output_config"] = rawjson.Value(`{"effort":` + m.effort(req.Reasoning) + `}`)
	case model.ReasoningEffort:
		switch word := m.effort(req.Reasoning); {
		case m.family != nova:
			fields["reasoning_effort"] = rawjson.Value(word)
		case !off: // which is what Nova is if nothing is said
			if limit > 0 && word == `"high"` {
				word = `"medium"` // with high, Nova refuses every limit
			}
			fields["reasoningConfig"] = rawjson.Value(`{"type":"enabled","maxReasoningEffort":` + word + `}`)
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
		if m.fields.Has(name) {
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
	limit = wire.Least(given, m.cfg.Known.MaxOutputTokens)
	if limit == 0 {
		limit = budget + answerTokens
	}
	if budget = min(budget, limit-minAnswer); budget < minBudget {
		return wire.Extra{}, given // there are no tokens left for a thought
	}
	return wire.Extra{"thinking": rawjson.Value(`{"type":"enabled","budget_tokens":` + strconv.Itoa(budget) + `}`)}, limit
}

// effort is the word for a budget, among those that the model knows.
func (m *Model) effort(asked expert.ReasoningBudget) string {
	words := m.cfg.Known.Efforts
	word := wire.ClaudeEffort(asked.Tokens(), words)
	switch {
	case asked.Off() && len(words) > 0:
		word = words[0] // the least there is
	case slices.Contains(words, asked.String()):
		word = asked.String()
	}
	return string(wire.Quote(word))
}

// A family is what the models of one maker have in common. The id says it, inside an ARN
// too; that of a profile of one's own does not, and stands for any family.
type family string

const (
	claude family = "claude"
	nova   family = "nova"
	other  family = ""
)

func familyOf(id string) family {
	switch {
	case strings.Contains(id, "anthropic.claude-"):
		return claude
	case strings.Contains(id, "amazon.nova-"):
		return nova
	}
	return other
}

// rich reports whether the results of tools may say that they are errors and hold images,
// as the service documents it. Others are told in words, and get images beside.
func (f family) rich() bool { return f == claude || f == nova }

// caches reports whether a model takes points of the prompt cache. One that does not
// refuses the request. Nova keeps what it saw by itself.
func caches(id string) bool {
	return familyOf(id) == claude && (model.ClaudeReasoning(id) != model.ReasoningNone || strings.Contains(id, "claude-3-5-haiku"))
}
