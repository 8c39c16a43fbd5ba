package messages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// What a block of a type may have beside its type.
var members = map[string][]string{
	"text":              {"text", "cache_control", "citations"},
	"image":             {"source", "cache_control"},
	"document":          {"source", "cache_control", "title", "context", "citations"},
	"thinking":          {"thinking", "signature"},
	"redacted_thinking": {"data"},
	"tool_use":          {"id", "name", "input", "cache_control", "caller"},
	"tool_result":       {"tool_use_id", "content", "is_error", "cache_control"},
}

// The role that may send a block, where it matters.
var sender = map[string]string{
	"tool_use": "assistant", "thinking": "assistant", "redacted_thinking": "assistant",
	"tool_result": "user", "image": "user", "document": "user",
	"server_tool_use": "assistant", "mcp_tool_use": "assistant",
}

func (r *Request) checkSystem() *script.Problem {
	for i, b := range r.System {
		if b.Type != "text" {
			return invalid("system.%d.type: Input should be 'text'", i)
		}
		if p := checkBlock(fmt.Sprintf("system.%d", i), b); p != nil {
			return p
		}
	}
	return nil
}

func checkMessages(messages []Message, s *script.Script) *script.Problem {
	if len(messages) == 0 {
		return invalid("messages: at least one message is required")
	}
	for i, m := range messages {
		last := i == len(messages)-1
		switch {
		case m.Role != "user" && m.Role != "assistant":
			return invalid("messages.%d.role: Input should be 'user' or 'assistant'", i)
		case i == 0 && m.Role != "user":
			return invalid("messages: first message must use the \"user\" role")
		case i > 0 && m.Role == messages[i-1].Role:
			return invalid("messages: roles must alternate between \"user\" and \"assistant\", but found multiple %q roles in a row", m.Role)
		case len(m.Content) == 0 && (!last || m.Role == "user"):
			return invalid("messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
		for j, b := range m.Content {
			at := fmt.Sprintf("messages.%d.content.%d", i, j)
			if by := sender[b.Type]; by != "" && by != m.Role {
				return invalid("messages.%d: `%s` blocks can only be in `%s` messages", i, b.Type, by)
			}
			if p := checkBlock(at, b); p != nil {
				return p
			}
			if p := checkSeal(at, b, s); p != nil {
				return p
			}
			if last && m.Role == "assistant" && b.Text != strings.TrimRight(b.Text, " \t\r\n") {
				return invalid("messages: final assistant content cannot end with trailing whitespace")
			}
		}
	}
	if p := checkHosted(messages); p != nil {
		return p
	}
	return checkPairs(messages)
}

// checkBlock looks at one block, and into the result of a tool.
func checkBlock(at string, b Block) *script.Problem {
	allowed, known := members[b.Type]
	if !known {
		if isHosted(b.Type) || b.Type == "search_result" {
			return nil // what they hold is the provider's business
		}
		return invalid("%s: Input tag '%s' found using 'type' does not match any of the expected tags", at, b.Type)
	}
	for _, name := range b.names {
		if name != "type" && !slices.Contains(allowed, name) {
			return invalid("%s.%s.%s: Extra inputs are not permitted", at, b.Type, name)
		}
	}
	switch {
	case b.Type == "text" && b.Text == "":
		return invalid("messages: text content blocks must be non-empty")
	case b.Type == "text" && strings.TrimSpace(b.Text) == "":
		return invalid("messages: text content blocks must contain non-whitespace text")
	case b.Type == "tool_use" && b.Input.Kind() != '{':
		return invalid("%s.tool_use.input: Input should be a valid dictionary", at)
	case b.Type == "tool_use" && !useID.MatchString(b.ID):
		return invalid("%s.tool_use.id: String should match pattern '%s'", at, useID)
	case b.Type == "tool_use" && !toolName.MatchString(b.Name):
		return invalid("%s.tool_use.name: String should match pattern '%s'", at, toolName)
	case (b.Type == "image" || b.Type == "document") && b.Source.Kind() != '{':
		return invalid("%s.%s.source: Field required", at, b.Type)
	case b.Type == "tool_result":
		return checkResult(at, b)
	}
	return nil
}

func checkResult(at string, b Block) *script.Problem {
	parts, err := b.Result()
	if err != nil {
		return invalid("%s.tool_result.content: Input should be a valid string or list", at)
	}
	if b.Content.Kind() == '"' {
		return nil // which may be empty
	}
	for i, part := range parts {
		inside := fmt.Sprintf("%s.tool_result.content.%d", at, i)
		if part.Type != "text" && part.Type != "image" && part.Type != "document" && part.Type != "search_result" {
			return invalid("%s: Input tag '%s' found using 'type' does not match any of the expected tags: 'document', 'image', 'search_result', 'text'", inside, part.Type)
		}
		if p := checkBlock(inside, part); p != nil {
			return p
		}
	}
	return nil
}

// checkSeal refuses thoughts, and what the provider ran itself, that the script did not
// give: changed on the way, or another provider's.
func checkSeal(at string, b Block, s *script.Script) *script.Problem {
	switch {
	case b.Type == "thinking" && !s.Gave(b.Thinking, b.Signature):
		return invalid("%s: Invalid `signature` in `thinking` block", at)
	case b.Type == "redacted_thinking" && !s.GaveRedacted(b.Data):
		return invalid("%s: Invalid `data` in `redacted_thinking` block", at)
	case isHosted(b.Type) && !s.GaveHosted(string(b.raw)):
		return invalid("%s: Invalid `%s` block", at, b.Type)
	}
	return nil
}

// isHosted reports whether blocks of a type are about what the provider ran itself.
func isHosted(kind string) bool {
	return kind == "server_tool_use" || kind == "mcp_tool_use" || kind == "container_upload" ||
		strings.HasSuffix(kind, "_tool_result") && kind != "tool_result"
}

// checkHosted looks for the result of every call that the provider ran itself. Only the
// last answer may wait for one: it paused, and continues.
func checkHosted(messages []Message) *script.Problem {
	for i, m := range messages {
		open := map[string]bool{}
		for j, b := range m.Content {
			switch {
			case b.Type == "server_tool_use" || b.Type == "mcp_tool_use":
				open[b.ID] = true
			case isHosted(b.Type) && b.ToolUseID != "" && !open[b.ToolUseID]:
				return invalid("messages.%d.content.%d: unexpected `tool_use_id` found in `%s` blocks: %s.", i, j, b.Type, b.ToolUseID)
			case isHosted(b.Type):
				delete(open, b.ToolUseID)
			}
		}
		for id := range open {
			if i < len(messages)-1 {
				return invalid("messages.%d: `server_tool_use` ids were found without a corresponding result block: %s", i, id)
			}
		}
	}
	return nil
}

// checkPairs looks for the result of every call, in the message that follows it.
func checkPairs(messages []Message) *script.Problem {
	seen := map[string]bool{}     // calls, in the whole conversation
	var uses []string             // calls of the message before
	answered := map[string]bool{} // whether they have a result
	for i, m := range messages {
		open := map[string]bool{}
		var calls []string
		other := false
		for j, b := range m.Content {
			has, expected := answered[b.ToolUseID]
			switch {
			case b.Type == "tool_use" && seen[b.ID]:
				return invalid("messages: `tool_use` ids must be unique")
			case b.Type == "tool_use":
				seen[b.ID], open[b.ID] = true, false
				calls = append(calls, b.ID)
			case b.Type != "tool_result":
				other = true
			case has:
				return invalid("messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", i, j, b.ToolUseID)
			case !expected:
				return invalid("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. "+
					"Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, b.ToolUseID)
			case other:
				return invalid("messages.%d.content.%d: `tool_result` blocks must come before other content", i, j)
			default:
				answered[b.ToolUseID] = true
			}
		}
		if missing := slices.DeleteFunc(uses, func(id string) bool { return answered[id] }); len(missing) > 0 {
			return unanswered(i-1, missing)
		}
		uses, answered = calls, open
	}
	if len(uses) > 0 {
		return unanswered(len(messages)-1, uses)
	}
	return nil
}

func unanswered(at int, ids []string) *script.Problem {
	return invalid("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. "+
		"Each `tool_use` block must have a corresponding `tool_result` block in the next message.", at, strings.Join(ids, ", "))
}
