package chat

import (
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/url"
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

// The members of a body.
var (
	azureFields = strings.Fields("model messages stream stream_options max_completion_tokens max_tokens temperature top_p n stop " +
		"presence_penalty frequency_penalty logit_bias user tools tool_choice parallel_tool_calls response_format seed logprobs top_logprobs " +
		"reasoning_effort metadata store modalities audio prediction service_tier verbosity prompt_cache_key safety_identifier data_sources")
	compatibleFields = strings.Fields("model messages stream stream_options max_tokens temperature top_p n stop presence_penalty frequency_penalty " +
		"logit_bias user response_format tools tool_choice parallel_tool_calls seed logprobs top_logprobs reasoning_effort")
	deepSeekFields = strings.Fields("model messages stream stream_options max_tokens temperature top_p stop presence_penalty frequency_penalty " +
		"response_format tools tool_choice logprobs top_logprobs thinking reasoning_effort")

	efforts    = strings.Fields("none minimal low medium high xhigh max")
	apiVersion = regexp.MustCompile(`^(v1|preview|latest|\d{4}-\d{2}-\d{2}(-preview)?)$`)
	name       = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

// checkHead looks at everything before the body.
func (d dialect) checkHead(r *http.Request, s *script.Script) *script.Problem {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	sent, right := d.key(r, nil, s)
	switch {
	case r.Method != http.MethodPost:
		return script.KindProblem(http.StatusMethodNotAllowed, "Method Not Allowed")
	case d.azure && !right:
		return script.KindProblem(http.StatusUnauthorized, "Access denied due to invalid subscription key or wrong API endpoint.")
	case !sent && !right:
		return script.KindProblem(http.StatusUnauthorized, "Authentication Fails (no such user)")
	case !right:
		return script.KindProblem(http.StatusUnauthorized, "Authentication Fails, Your api key is invalid")
	case kind != "application/json":
		return script.KindProblem(http.StatusUnsupportedMediaType, "content-type: must be application/json, got %q", r.Header.Get("Content-Type"))
	case d.azure:
		return checkAddress(r.URL)
	case r.URL.RawQuery != "":
		return invalid("the address has a query: %s", r.URL.RawQuery)
	}
	return nil
}

// checkAddress looks at an address of Azure. What it does not know it does not find.
func checkAddress(u *url.URL) *script.Problem {
	_, path, _ := strings.Cut(u.EscapedPath(), "/openai/")
	if path != "v1/chat/completions" {
		rest, ok := strings.CutPrefix(path, "deployments/")
		deployment := strings.TrimSuffix(rest, "/chat/completions")
		if !ok || deployment == "" || strings.Contains(deployment, "/") {
			return script.KindProblem(http.StatusNotFound, "Resource not found")
		}
	}
	query := u.Query()
	if versions := query["api-version"]; len(query) != 1 || len(versions) != 1 || !apiVersion.MatchString(versions[0]) {
		return script.KindProblem(http.StatusNotFound, "Resource not found: an api-version like v1 or 2024-10-21 is needed, and nothing else")
	}
	return nil
}

// decode reads a body. The JSON reader refuses what others read in two ways: names that
// occur twice, and text that is no UTF-8.
func (d dialect) decode(raw []byte) (*Request, *script.Problem) {
	var members map[string]rawjson.Value
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, invalid("We could not parse the JSON body of your request: %v", err)
	}
	fields := deepSeekFields
	switch {
	case d.azure:
		fields = azureFields
	case d.compatible:
		fields = compatibleFields
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(fields, name) {
			return nil, invalid("Unrecognized request argument supplied: %s", name)
		}
	}
	var req Request
	if err := json.Unmarshal(raw, &req); err != nil {
		return nil, d.wrongForm(err)
	}
	return &req, nil
}

// wrongForm is a body that is JSON, but not the right one.
func (d dialect) wrongForm(err error) *script.Problem {
	if d.azure {
		return invalid("Invalid type in the request body: %v", err)
	}
	return script.KindProblem(http.StatusUnprocessableEntity, "Failed to deserialize the JSON body into the target type: %v", err)
}

// check looks at a body as a whole.
func (d dialect) check(r *Request) *script.Problem {
	for _, check := range []func(*Request) *script.Problem{d.checkNumbers, d.checkReasoning, d.checkTools, d.checkMessages, checkPairs, d.checkThoughts} {
		if p := check(r); p != nil {
			return p
		}
	}
	return nil
}

func (d dialect) checkNumbers(r *Request) *script.Problem {
	for _, limit := range []*int{r.MaxTokens, r.MaxCompletionTokens} {
		if limit != nil && *limit < 1 {
			return invalid("Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got %d instead.", *limit)
		}
	}
	switch {
	case r.Model == "":
		return invalid("you must provide a model parameter")
	case r.MaxTokens != nil && r.MaxCompletionTokens != nil:
		return invalid("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
	case d.azure && r.MaxTokens != nil && thinks(r.Model):
		return invalid("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	case r.Temperature != nil && (*r.Temperature < 0 || *r.Temperature > 2):
		return invalid("Invalid 'temperature': decimal above maximum value. Expected a value <= 2.")
	case d.azure && r.Temperature != nil && *r.Temperature != 1 && thinks(r.Model):
		return invalid("Unsupported value: 'temperature' does not support %v with this model. Only the default (1) value is supported.", *r.Temperature)
	case !r.Stream:
		return invalid("stream: the scripted server only streams; send true")
	case r.StreamOptions == nil || !r.StreamOptions.IncludeUsage:
		return invalid("stream_options: the scripted server counts; send include_usage")
	}
	return nil
}

// thinks reports whether a model of Azure does, by its name: the services know better.
func thinks(model string) bool {
	return !slices.ContainsFunc([]string{"gpt-3", "gpt-4", "chatgpt-4o", "gpt-5-chat"}, func(prefix string) bool { return strings.HasPrefix(model, prefix) })
}

func (d dialect) checkReasoning(r *Request) *script.Problem {
	switch {
	case r.ReasoningEffort != "" && !slices.Contains(efforts, r.ReasoningEffort):
		return invalid("Invalid value: '%s'. Supported values are: '%s'.", r.ReasoningEffort, strings.Join(efforts, "', '"))
	case d.azure && r.ReasoningEffort != "" && !thinks(r.Model):
		return invalid("Unrecognized request argument supplied: reasoning_effort")
	case r.Thinking != nil && r.Thinking.Type != "enabled" && r.Thinking.Type != "disabled":
		return d.wrongForm(fmt.Errorf("thinking.type: unknown variant `%s`, expected `enabled` or `disabled`", r.Thinking.Type))
	}
	return nil
}

func (d dialect) checkTools(r *Request) *script.Problem {
	const maxTools, maxDescription = 128, 1024 // of Azure's
	for i, t := range r.Tools {
		f := t.Function
		var schema map[string]rawjson.Value
		switch {
		case t.Type != "function":
			return invalid("Invalid value: '%s'. Supported values are: 'function'.", t.Type)
		case !name.MatchString(f.Name):
			return invalid("Invalid 'tools[%d].function.name': string does not match pattern. Expected a string that matches the pattern '%s'.", i, name)
		case d.azure && len([]rune(f.Description)) > maxDescription:
			return invalid("Invalid 'tools[%d].function.description': string too long. Expected a string with maximum length %d.", i, maxDescription)
		case !d.azure && f.Strict != nil:
			return invalid("'strict' needs the beta address")
		case f.Parameters != nil && (json.Unmarshal(f.Parameters, &schema) != nil || string(schema["type"]) != `"object"`):
			return invalid("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: %s'.", f.Name, schema["type"])
		}
		for _, name := range []string{"oneOf", "anyOf", "allOf", "enum", "not"} {
			if d.azure && schema[name] != nil {
				return invalid("Invalid schema for function '%s': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.", f.Name)
			}
		}
		if d.azure && f.Parameters != nil && schema["properties"].Kind() != '{' {
			return invalid("Invalid schema for function '%s': In context=(), object schema missing properties.", f.Name)
		}
	}
	choice := r.ToolChoice
	switch {
	case len(r.Tools) > maxTools:
		return invalid("Invalid 'tools': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", maxTools, len(r.Tools))
	case r.Tools != nil && len(r.Tools) == 0:
		return invalid("Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	case choice == nil:
		return nil
	case len(r.Tools) == 0:
		return invalid("'tool_choice' is only allowed when 'tools' are specified.")
	case choice.Kind() == '"' && !slices.Contains([]string{`"auto"`, `"none"`, `"required"`}, string(choice)):
		return invalid("Invalid value: %s. Supported values are: 'none', 'auto', and 'required'.", choice)
	}
	return nil
}
