package chat

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// members are what a message of a role may have beside role and content.
var members = map[string][]string{
	"system":    {"name"},
	"developer": {"name"},
	"user":      {"name"},
	"assistant": {"name", "refusal", "tool_calls", "reasoning_content"},
	"tool":      {"tool_call_id"},
}

func (d dialect) checkMessages(r *Request) *script.Problem {
	if len(r.Messages) == 0 {
		return invalid("Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		allowed, known := members[m.Role]
		if !known || !d.azure && m.Role == "developer" {
			return d.wrongForm(fmt.Errorf("messages[%d].role: unknown variant `%s`, expected one of `system`, `user`, `assistant`, `tool`", i, m.Role))
		}
		for _, name := range m.names {
			if name != "role" && name != "content" && !slices.Contains(allowed, name) || (d.azure || d.compatible) && name == "reasoning_content" {
				return invalid("Additional properties are not allowed ('%s' was unexpected) - 'messages.%d'", name, i)
			}
		}
		if p := d.checkContent(fmt.Sprintf("messages[%d]", i), m, d.azure || d.compatible || sees(r.Model)); p != nil {
			return p
		}
		for j, c := range m.ToolCalls {
			if p := d.checkCall(fmt.Sprintf("messages[%d].tool_calls[%d]", i, j), c); p != nil {
				return p
			}
		}
		if !d.azure && i > 0 && m.Role == "user" && r.Messages[i-1].Role == "user" && strings.Contains(r.Model, "reasoner") {
			return invalid("%s does not support successive user or assistant messages (messages[%d] and messages[%d] in your input).", r.Model, i-1, i)
		}
	}
	return nil
}

// sees reports whether a model of DeepSeek looks at images, by its name.
func sees(model string) bool {
	return strings.Contains(model, "flash") || strings.Contains(model, "vision")
}

func (d dialect) checkContent(at string, m *Message, sees bool) *script.Problem {
	switch kind := m.Content.Kind(); {
	case m.ToolCalls != nil && len(m.ToolCalls) == 0:
		return invalid("Invalid '%s.tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.", at)
	case m.Role == "assistant" && len(m.ToolCalls) > 0 && (m.Content == nil || kind == 'n'):
		return nil
	case m.Content == nil || kind == 'n':
		return invalid("Invalid value for 'content': expected a string, got null. - '%s.content'", at)
	case kind == '"':
		return nil
	case kind != '[':
		return d.wrongForm(fmt.Errorf("%s.content: expected a string or a list", at))
	case len(m.parts) == 0:
		return invalid("Invalid '%s.content': empty array. Expected an array with minimum length 1, but got an empty array instead.", at)
	}
	for i, p := range m.parts {
		if p.Type != "text" && (m.Role != "user" || !sees || p.Type != "image_url" && !d.azure) {
			return d.wrongForm(fmt.Errorf("%s.content[%d]: unknown variant `%s`, expected `text`", at, i, p.Type))
		}
		if wrong := checkPart(fmt.Sprintf("%s.content[%d]", at, i), p); wrong != nil {
			return wrong
		}
	}
	return nil
}

func checkPart(at string, p Part) *script.Problem {
	switch {
	case p.Type == "text" && p.ImageURL == nil && p.File == nil:
		return nil
	case p.Type == "image_url" && p.ImageURL != nil && p.Text == "" && p.File == nil:
		if url := p.ImageURL.URL; strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") {
			return nil
		}
		for _, kind := range []string{"png", "jpeg", "gif", "webp"} {
			if isData(p.ImageURL.URL, "image/"+kind) {
				return nil
			}
		}
		return invalid("You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp']. - '%s'", at)
	case p.Type == "file" && p.File != nil && p.Text == "" && p.ImageURL == nil:
		if p.File.Name == "" || !isData(p.File.Data, "application/pdf") {
			return invalid("Invalid file data: '%s.file.file_data'. Expected a base64-encoded data URL with an application/pdf MIME type, and a filename.", at)
		}
		return nil
	}
	return invalid("Invalid value: '%s'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'. - '%s'", p.Type, at)
}

// isData reports whether an address holds its own bytes, of a type.
func isData(address, kind string) bool {
	data, ok := strings.CutPrefix(address, "data:"+kind+";base64,")
	_, err := base64.StdEncoding.Strict().DecodeString(data)
	return ok && data != "" && err == nil
}

func (d dialect) checkCall(at string, c Call) *script.Problem {
	const maxID = 40
	switch {
	case c.Type != "function":
		return invalid("Invalid value: '%s'. Supported values are: 'function'. - '%s.type'", c.Type, at)
	case c.ID == "":
		return invalid("Missing required parameter: '%s.id'.", at)
	case d.azure && len(c.ID) > maxID:
		return invalid("Invalid '%s.id': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", at, maxID, len(c.ID))
	case !name.MatchString(c.Function.Name):
		return invalid("Invalid '%s.function.name': string does not match pattern. Expected a string that matches the pattern '%s'.", at, name)
	case c.Function.Arguments.Kind() != '"':
		return d.wrongForm(fmt.Errorf("%s.function.arguments: expected a string", at))
	}
	return nil
}

// checkPairs looks for the result of every call, right behind it.
func checkPairs(r *Request) *script.Problem {
	var open []string // calls that wait for their results
	called := false   // the messages of tools belong to calls
	for i, m := range r.Messages {
		if m.Role == "tool" {
			at := slices.Index(open, m.ToolCallID)
			switch {
			case !called:
				return invalid("Invalid parameter: messages with role 'tool' must be a response to an earlier message with 'tool_calls'.")
			case m.ToolCallID == "":
				return invalid("Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.")
			case at < 0:
				return invalid("Invalid parameter: 'tool_call_id' of '%s' not found in 'tool_calls' of previous message. - 'messages[%d]'", m.ToolCallID, i)
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			return unanswered(open)
		}
		called = len(m.ToolCalls) > 0
		for _, c := range m.ToolCalls {
			if slices.Contains(open, c.ID) {
				return invalid("Duplicate value for 'tool_call_id' of '%s' in message[%d]", c.ID, i)
			}
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return unanswered(open)
	}
	return nil
}

func unanswered(ids []string) *script.Problem {
	return invalid("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "+
		"The following tool_call_ids did not have response messages: %s", strings.Join(ids, ", "))
}

// checkThoughts wants to see the thoughts behind calls again, as DeepSeek does when it
// thinks. The model that thinks unless it is told not to is content with the member.
func (d dialect) checkThoughts(r *Request) *script.Problem {
	enabled := r.Thinking != nil && r.Thinking.Type == "enabled"
	byItself := r.Thinking == nil && strings.Contains(r.Model, "reasoner")
	if d.azure || !enabled && !byItself {
		return nil
	}
	for i, m := range r.Messages {
		switch {
		case len(m.ToolCalls) == 0:
		case m.Reasoning == nil:
			return invalid("Missing `reasoning_content` field in the assistant message at message index %d.", i)
		case enabled && *m.Reasoning == "":
			return invalid("The `reasoning_content` in the thinking mode must be passed back to the API.")
		}
	}
	return nil
}
