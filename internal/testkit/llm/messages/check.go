package messages

import (
	"maps"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
	"github.com/perstack-go/perstack/rawjson"
)

func invalid(format string, args ...any) *script.Problem {
	return script.KindProblem(http.StatusBadRequest, format, args...)
}

var (
	// The members of a body, and those that belong to a beta: they need its header.
	fields = strings.Fields("model messages max_tokens system stream stop_sequences temperature top_p top_k tools tool_choice " +
		"metadata thinking service_tier cache_control output_config inference_geo")
	betaFields = strings.Fields("container context_management mcp_servers output_format speed")

	toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	useID    = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
)

// checkHead looks at everything before the body.
func checkHead(r *http.Request, key string) *script.Problem {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	keys := r.Header.Values("X-Api-Key")
	switch {
	case r.Method != http.MethodPost:
		return script.KindProblem(http.StatusMethodNotAllowed, "Method Not Allowed")
	case len(keys) == 0:
		return script.KindProblem(http.StatusUnauthorized, "x-api-key header is required")
	case len(keys) > 1 || keys[0] != key:
		return script.KindProblem(http.StatusUnauthorized, "invalid x-api-key")
	case r.Header.Get("Anthropic-Version") == "":
		return invalid("anthropic-version: header is required")
	case r.Header.Get("Anthropic-Version") != "2023-06-01":
		return invalid("anthropic-version: %q is not a valid version", r.Header.Get("Anthropic-Version"))
	case kind != "application/json":
		return invalid("content-type: must be application/json, got %q", r.Header.Get("Content-Type"))
	}
	return nil
}

// Read returns a body as tests look at it; nil if it cannot be decoded.
func Read(body []byte) *Request {
	req, _ := decode(body, true)
	return req
}

// decode reads a body. The JSON reader refuses what others read in two ways: names that
// occur twice, and text that is no UTF-8.
func decode(raw []byte, beta bool) (*Request, *script.Problem) {
	var members map[string]rawjson.Value
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, invalid("The request body is not valid JSON: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(fields, name) && (!beta || !slices.Contains(betaFields, name)) {
			return nil, invalid("%s: Extra inputs are not permitted", name)
		}
	}
	for _, name := range []string{"model", "max_tokens", "messages"} {
		if members[name] == nil {
			return nil, invalid("%s: Field required", name)
		}
	}
	var req Request
	if err := json.Unmarshal(raw, &req); err != nil {
		return nil, invalid("The request body has the wrong form: %v", err)
	}
	return &req, nil
}

// check looks at a body as a whole.
func (r *Request) check(s *script.Script) *script.Problem {
	for _, check := range []func() *script.Problem{
		r.checkNumbers, r.checkThinking, r.checkTools, r.checkSystem,
		func() *script.Problem { return checkMessages(r.Messages, s) },
		r.checkCache, r.checkThoughts,
	} {
		if p := check(); p != nil {
			return p
		}
	}
	return nil
}

func (r *Request) checkNumbers() *script.Problem {
	switch {
	case r.Model == "":
		return invalid("model: String should have at least 1 character")
	case r.MaxTokens < 1:
		return invalid("max_tokens: Input should be greater than or equal to 1")
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 1):
		return invalid("temperature: range: 0..1")
	case r.Output != nil && !slices.Contains([]string{"", "low", "medium", "high", "xhigh", "max"}, r.Output.Effort):
		return invalid("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
	case !r.Stream:
		return invalid("stream: the scripted server only streams; send true")
	}
	return nil
}

func (r *Request) checkThinking() *script.Problem {
	t := r.Thinking
	if t == nil || t.Type == "disabled" || t.Type == "between_tools" {
		return nil
	}
	forced := r.ToolChoice != nil && (r.ToolChoice.Type == "any" || r.ToolChoice.Type == "tool")
	switch {
	case t.Type != "enabled" && t.Type != "adaptive":
		return invalid("thinking: Input tag '%s' found using 'type' does not match any of the expected tags: 'adaptive', 'between_tools', 'disabled', 'enabled'", t.Type)
	case !slices.Contains([]string{"", "summarized", "omitted"}, t.Display):
		return invalid("thinking.%s.display: Input should be 'summarized' or 'omitted'", t.Type)
	case t.Type == "adaptive" && t.Budget != 0:
		return invalid("thinking.adaptive.budget_tokens: Extra inputs are not permitted")
	case t.Type == "enabled" && t.Budget < 1024:
		return invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case t.Type == "enabled" && r.MaxTokens <= t.Budget:
		return invalid("`max_tokens` must be greater than `thinking.budget_tokens`")
	case r.Temperature != nil && *r.Temperature != 1:
		return invalid("`temperature` may only be set to 1 when thinking is enabled")
	case forced:
		return invalid("Thinking may not be enabled when tool_choice forces tool use.")
	}
	return nil
}

func (r *Request) checkTools() *script.Problem {
	seen := map[string]bool{}
	for i, t := range r.Tools {
		var schema struct {
			Type string `json:"type"`
		}
		switch {
		case seen[t.Name]:
			return invalid("tools: Tool names must be unique.")
		case !toolName.MatchString(t.Name):
			return invalid("tools.%d.custom.name: String should match pattern '%s'", i, toolName)
		case t.Type != "" && t.Type != "custom":
			// A tool of the provider: its options are not our business.
		case t.InputSchema == nil:
			return invalid("tools.%d.custom.input_schema: Field required", i)
		case json.Unmarshal(t.InputSchema, &schema) != nil || schema.Type != "object":
			return invalid("tools.%d.custom.input_schema.type: Input should be 'object'", i)
		}
		seen[t.Name] = true
	}
	c := r.ToolChoice
	switch {
	case c == nil:
		return nil
	case !slices.Contains([]string{"auto", "any", "tool", "none"}, c.Type):
		return invalid("tool_choice: Input tag '%s' found using 'type' does not match any of the expected tags: 'any', 'auto', 'none', 'tool'", c.Type)
	case len(r.Tools) == 0:
		return invalid("tool_choice: may only be specified while providing tools")
	case c.Type == "tool" && !seen[c.Name]:
		return invalid("Tool '%s' not found in provided tools", c.Name)
	}
	return nil
}

// checkCache counts the marks of the cache, wherever they stand.
func (r *Request) checkCache() *script.Problem {
	marks := []rawjson.Value{r.Cache}
	for _, t := range r.Tools {
		marks = append(marks, t.Cache)
	}
	var walk func(Blocks)
	walk = func(blocks Blocks) {
		for _, b := range blocks {
			marks = append(marks, b.Cache)
			if b.Type == "tool_result" {
				inside, _ := b.Result() // was read before
				walk(inside)
			}
		}
	}
	walk(r.System)
	for _, m := range r.Messages {
		walk(m.Content)
	}
	marks = slices.DeleteFunc(marks, func(v rawjson.Value) bool { return len(v) == 0 || v.Kind() == 'n' })
	for _, mark := range marks {
		var m struct {
			Type string `json:"type"`
			TTL  string `json:"ttl"`
		}
		if json.Unmarshal(mark, &m) != nil || m.Type != "ephemeral" || !slices.Contains([]string{"", "5m", "1h"}, m.TTL) {
			return invalid("cache_control: Input should be {\"type\":\"ephemeral\"}, got %s", script.Short(string(mark)))
		}
	}
	if len(marks) > 4 {
		return invalid("A maximum of 4 blocks with cache_control may be provided. Found %d.", len(marks))
	}
	return nil
}

// checkThoughts refuses to think on in a turn that began without a thought: one that used
// tools continues as it began.
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
