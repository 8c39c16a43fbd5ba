package responses

import (
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
	fields = strings.Fields("model input stream store include tools tool_choice max_output_tokens max_tool_calls reasoning " +
		"instructions metadata parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_retention " +
		"safety_identifier service_tier stream_options temperature text top_logprobs top_p truncation user background conversation")
	includes = strings.Fields("file_search_call.results web_search_call.results web_search_call.action.sources " +
		"message.input_image.image_url computer_call_output.output.image_url code_interpreter_call.outputs " +
		"reasoning.encrypted_content message.output_text.logprobs")
	efforts = strings.Fields("none minimal low medium high xhigh max")

	toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

// checkHead looks at everything before the body.
func checkHead(r *http.Request, key string) *script.Problem {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	keys := r.Header.Values("Authorization")
	switch {
	case r.Method != http.MethodPost:
		return script.KindProblem(http.StatusMethodNotAllowed, "Not allowed to %s on /v1/responses.", r.Method)
	case len(keys) == 0:
		return script.KindProblem(http.StatusUnauthorized, "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth.")
	case len(keys) > 1 || keys[0] != "Bearer "+key:
		return script.KindProblem(http.StatusUnauthorized, "Incorrect API key provided.")
	case kind != "application/json":
		return invalid("Unsupported Content-Type %q; use application/json.", r.Header.Get("Content-Type"))
	}
	return nil
}

// decode reads a body. The JSON reader refuses what others read in two ways: names that
// occur twice, and text that is no UTF-8.
func decode(raw []byte) (*request, *script.Problem) {
	has, err := names(raw)
	if err != nil {
		return nil, invalid("We could not parse the JSON body of your request: %v", err)
	}
	for _, name := range sorted(has) {
		if !slices.Contains(fields, name) {
			return nil, invalid("Unknown parameter: '%s'.", name)
		}
	}
	for _, name := range []string{"model", "input"} {
		if !has[name] {
			return nil, invalid("Missing required parameter: '%s'.", name)
		}
	}
	var req request
	if err := json.Unmarshal(raw, &req); err != nil {
		return nil, invalid("Invalid type in the request body: %v", err)
	}
	return &req, nil
}

// check looks at a body as a whole.
func (r *request) check(s *script.Script) *script.Problem {
	for _, check := range []func() *script.Problem{
		r.checkNumbers, r.checkReasoning, r.checkTools, r.checkChoice,
		func() *script.Problem { return r.checkItems(s) }, r.checkPairs, r.checkThoughts,
	} {
		if p := check(); p != nil {
			return p
		}
	}
	return nil
}

func (r *request) checkNumbers() *script.Problem {
	switch {
	case r.Model == "":
		return invalid("Invalid 'model': empty string.")
	case !r.Stream:
		return invalid("stream: the scripted server only streams; send true")
	case r.Store == nil || *r.Store:
		return invalid("store: the scripted server keeps nothing; send false")
	case r.MaxTokens != nil && *r.MaxTokens < 16:
		return invalid("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.", *r.MaxTokens)
	case r.MaxToolCalls != nil && *r.MaxToolCalls < 1:
		return invalid("Invalid 'max_tool_calls': integer below minimum value. Expected a value >= 1, but got %d instead.", *r.MaxToolCalls)
	case len(r.Input) == 0:
		return invalid("Missing required parameter: 'input'.")
	}
	for i, name := range r.Include {
		if !slices.Contains(includes, name) {
			return invalid("Invalid value: '%s' at 'include[%d]'.", name, i)
		}
	}
	return nil
}

// thinks goes by the name, as clients have to.
func (r *request) thinks() bool {
	return !slices.ContainsFunc([]string{"gpt-3", "gpt-4", "chatgpt-4o", "gpt-5-chat"}, func(before string) bool {
		return strings.HasPrefix(r.Model, before)
	})
}

func (r *request) checkReasoning() *script.Problem {
	if !r.thinks() {
		switch {
		case r.Reasoning != nil:
			return invalid("Unsupported parameter: 'reasoning.effort' is not supported with this model.")
		case slices.Contains(r.Include, "reasoning.encrypted_content"):
			return invalid("Encrypted content is not supported with this model.")
		}
		return nil
	}
	if r.Reasoning == nil {
		return nil
	}
	if effort := r.Reasoning.Effort; effort != nil {
		if !slices.Contains(efforts, *effort) {
			return invalid("Invalid value: '%s'. Supported values are: 'none', 'minimal', 'low', 'medium', 'high', 'xhigh' and 'max'.", *effort)
		}
		for _, t := range r.Tools {
			if *effort == "minimal" && t.Type != "function" {
				return invalid("The following tools cannot be used with reasoning.effort 'minimal': %s.", t.Type)
			}
		}
	}
	if summary := r.Reasoning.Summary; summary != nil && !slices.Contains([]string{"auto", "concise", "detailed"}, *summary) {
		return invalid("Invalid value: '%s'. Supported values are: 'auto', 'concise' and 'detailed'.", *summary)
	}
	return nil
}

// What a tool of a type may have beside its type.
var toolFields = map[string][]string{
	"function":         {"name", "description", "parameters", "strict"},
	"web_search":       {"filters", "search_context_size", "user_location", "external_web_access"},
	"file_search":      {"vector_store_ids", "max_num_results", "filters", "ranking_options"},
	"code_interpreter": {"container"},
	"image_generation": {"action", "background", "model", "moderation", "output_format", "partial_images", "quality", "size"},
}

func (r *request) checkTools() *script.Problem {
	seen := map[string]bool{}
	for i, t := range r.Tools {
		allowed, known := toolFields[t.Type]
		if !known {
			return invalid("Invalid value: '%s' at 'tools[%d].type'.", t.Type, i)
		}
		for _, name := range sorted(t.has) {
			if name != "type" && !slices.Contains(allowed, name) {
				return invalid("Unknown parameter: 'tools[%d].%s'.", i, name)
			}
		}
		if p := t.check(i, seen); p != nil {
			return p
		}
	}
	return nil
}

func (t *tool) check(i int, seen map[string]bool) *script.Problem {
	switch t.Type {
	case "function":
		if !toolName.MatchString(t.Name) {
			return invalid("Invalid 'tools[%d].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$' of at most 64 characters.", i)
		}
		if seen[t.Name] {
			return invalid("Duplicate function name: '%s' at 'tools[%d].name'.", t.Name, i)
		}
		seen[t.Name] = true
		return checkSchema(t)
	case "file_search":
		if len(t.Stores) == 0 {
			return invalid("Missing required parameter: 'tools[%d].vector_store_ids'.", i)
		}
		if t.MaxResults != nil && (*t.MaxResults < 1 || *t.MaxResults > 50) {
			return invalid("Invalid 'tools[%d].max_num_results': expected a value between 1 and 50.", i)
		}
	case "code_interpreter":
		if len(t.Container) == 0 {
			return invalid("Missing required parameter: 'tools[%d].container'.", i)
		}
	case "web_search":
		var filters struct {
			Domains []string `json:"allowed_domains"`
		}
		if len(t.Filters) > 0 && (json.Unmarshal(t.Filters, &filters) != nil || len(filters.Domains) == 0) {
			return invalid("Invalid 'tools[%d].filters'.", i)
		}
	}
	return nil
}

// checkSchema looks at the outermost level, as the service does for tools that are not
// strict.
func checkSchema(t *tool) *script.Problem {
	var members map[string]rawjson.Value
	if json.Unmarshal(t.Parameters, &members) != nil || string(members["type"]) != `"object"` {
		return invalid("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"'.", t.Name)
	}
	if members["properties"].Kind() != '{' {
		return invalid("Invalid schema for function '%s': In context=(), object schema missing properties.", t.Name)
	}
	for _, name := range []string{"oneOf", "anyOf", "allOf", "enum", "not"} {
		if members[name] != nil {
			return invalid("Invalid schema for function '%s': schema must not have '%s' at the top level.", t.Name, name)
		}
	}
	return nil
}

func (r *request) checkChoice() *script.Problem {
	if len(r.ToolChoice) == 0 {
		return nil
	}
	var word string
	switch {
	case r.ToolChoice.Kind() == '{':
		return nil // a tool by its name: no test asks for one
	case json.Unmarshal(r.ToolChoice, &word) != nil || !slices.Contains([]string{"auto", "none", "required"}, word):
		return invalid("Invalid value: %s at 'tool_choice'. Supported values are: 'none', 'auto', and 'required'.", r.ToolChoice)
	case word == "required" && len(r.Tools) == 0:
		return invalid("Tool choice 'required' must be specified with 'tools' parameter.")
	}
	return nil
}
