package converse

import (
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// checkPairs holds calls against results: each call is answered in the next message, and
// nothing else is.
func (g *glance) checkPairs() *script.Problem {
	used := false
	var open []string
	for i, m := range g.Messages {
		var results []string
		for _, b := range m.Content {
			if b.ToolResult != nil {
				results = append(results, b.ToolResult.ID)
			}
		}
		used = used || len(results) > 0
		var missing []string
		for _, id := range open {
			if at := slices.Index(results, id); at >= 0 {
				results = slices.Delete(results, at, at+1)
			} else {
				missing = append(missing, id)
			}
		}
		switch {
		case len(missing) > 0:
			return invalid("Expected toolResult blocks at messages.%d.content for the following Ids: %s", i, strings.Join(missing, ", "))
		case len(results) > 0:
			return invalid("The number of toolResult blocks at messages.%d.content exceeds the number of toolUse blocks of previous turn.", i)
		}
		open = nil
		for _, b := range m.Content {
			if b.ToolUse == nil {
				continue
			}
			if slices.Contains(open, b.ToolUse.ID) {
				return invalid("The toolUse ID %s at messages.%d is not unique.", b.ToolUse.ID, i)
			}
			open, used = append(open, b.ToolUse.ID), true
		}
	}
	switch {
	case len(open) > 0:
		return invalid("Expected toolResult blocks at messages.%d.content for the following Ids: %s", len(g.Messages), strings.Join(open, ", "))
	case used && g.ToolConfig == nil:
		return invalid("The toolConfig field must be defined when using toolUse and toolResult content blocks.")
	}
	return nil
}

// checkReasoning refuses thoughts that this model never had.
func (g *glance) checkReasoning(r *reasoning, at string) *script.Problem {
	const model = "The model returned the following errors: "
	switch {
	case (r.Text == nil) == (r.Redacted == ""):
		return invalid("The ReasoningContentBlock object at %s must set one of the following keys: reasoningText, redactedContent.", at)
	case !g.isClaude():
		return invalid("This model doesn't support the reasoningContent field. Remove reasoningContent and try again.")
	case r.Text != nil && !g.script.Gave(r.Text.Text, r.Text.Signature):
		return invalid(model+"%s: Invalid `signature` in `thinking` block", at)
	case r.Redacted != "" && !g.script.GaveRedacted(r.Redacted):
		return invalid(model+"%s: Invalid `data` in `redacted_thinking` block", at)
	}
	return nil
}

// checkThoughts refuses to think on in a turn that began without a thought: one that used
// tools continues as it began.
func (g *glance) checkThoughts() *script.Problem {
	if t := g.Fields.Thinking; t == nil || t.Type != "enabled" {
		return nil
	}
	first := -1
	for i, m := range g.Messages {
		switch {
		case m.Role == "user" && m.has(func(b *block) bool { return b.ToolResult == nil && b.CachePoint == nil }):
			first = -1
		case m.Role == "assistant" && first < 0:
			first = i
		}
	}
	if first < 0 || first == len(g.Messages)-1 || g.Messages[first].Content[0].Reasoning != nil {
		return nil
	}
	return invalid("The model returned the following errors: messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`. "+
		"When `thinking` is enabled, a final `assistant` message must start with a thinking block.", first)
}
