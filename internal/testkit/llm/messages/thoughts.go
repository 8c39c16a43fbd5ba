package messages

import "github.com/perstack-go/perstack/internal/testkit/llm/script"

// checkThoughts refuses to think on in a turn that began without a thought: one that used
// tools goes on as it began.
func (r *Request) checkThoughts() *script.Problem {
	if r.Thinking == nil || r.Thinking.Type != "enabled" {
		return nil
	}
	first := -1
	for i, m := range r.Messages {
		switch {
		case m.Role == "user" && !onlyResults(m):
			first = -1
		case m.Role == "assistant" && first < 0:
			first = i
		}
	}
	if first < 0 || first == len(r.Messages)-1 || len(r.Messages[first].Content) == 0 {
		return nil
	}
	if kind := r.Messages[first].Content[0].Type; kind != "thinking" && kind != "redacted_thinking" {
		return invalid("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. "+
			"When `thinking` is enabled, a final `assistant` message must start with a thinking block.", first, kind)
	}
	return nil
}

func onlyResults(m Message) bool {
	for _, b := range m.Content {
		if b.Type != "tool_result" {
			return false
		}
	}
	return true
}
