package gemini

import (
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
)

// usage is what was used so far. Absent is not 0: some chunks leave out what has not
// changed.
type usage struct {
	Prompt     *int64 `json:"promptTokenCount"`
	Cached     *int64 `json:"cachedContentTokenCount"`
	ToolUse    *int64 `json:"toolUsePromptTokenCount"`
	Candidates *int64 `json:"candidatesTokenCount"`
	Thoughts   *int64 `json:"thoughtsTokenCount"`
}

func (u *usage) update(v usage) {
	for _, f := range []struct{ old, now **int64 }{
		{&u.Prompt, &v.Prompt}, {&u.Cached, &v.Cached}, {&u.ToolUse, &v.ToolUse}, {&u.Candidates, &v.Candidates}, {&u.Thoughts, &v.Thoughts},
	} {
		if *f.now != nil {
			*f.old = *f.now
		}
	}
}

// total counts thoughts as output, and what Google's own tools gave the model as input:
// the provider bills them so, and counts them beside it.
func (u *usage) total() event.Usage {
	total := event.Usage{
		InputTokens:     wire.Tokens(u.Prompt) + wire.Tokens(u.ToolUse),
		OutputTokens:    wire.Tokens(u.Candidates) + wire.Tokens(u.Thoughts),
		ReasoningTokens: wire.Tokens(u.Thoughts),
	}
	total.CachedInputTokens = min(wire.Tokens(u.Cached), total.InputTokens) // more would make a sum too cheap
	total.TotalTokens = total.InputTokens + total.OutputTokens
	return total
}
