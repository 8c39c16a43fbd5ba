package responses

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// What an item of a type may have beside its type.
var itemFields = map[string][]string{
	"message":              {"id", "role", "content", "status", "phase"},
	"function_call":        {"id", "call_id", "name", "arguments", "status"},
	"function_call_output": {"id", "call_id", "output", "status"},
	"reasoning":            {"id", "summary", "encrypted_content", "content"},
}

// prefixes are what the ids of items begin with.
var prefixes = map[string]string{"message": "msg", "function_call": "fc", "function_call_output": "fc", "reasoning": "rs"}

// isRun is true for items about what the provider ran itself.
func isRun(kind string) bool {
	return slices.Contains([]string{
		"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_list_tools", "mcp_call", "compaction",
	}, kind)
}

func (r *request) checkItems(s *script.Script) *script.Problem {
	for i := range r.Input {
		it := &r.Input[i]
		at := fmt.Sprintf("input[%d]", i)
		if p := it.check(at, s); p != nil {
			return p
		}
	}
	return nil
}

func (i *item) check(at string, s *script.Script) *script.Problem {
	if isRun(i.Type) {
		if !s.GaveHosted(i.raw) {
			return script.KindProblem(http.StatusNotFound, "%s: an item of type '%s' is not as it was given. Items are not persisted when `store` is set to false.", at, i.Type)
		}
		return nil
	}
	allowed, known := itemFields[i.Type]
	if !known {
		return invalid("Invalid value: '%s' at '%s.type'.", i.Type, at)
	}
	for _, name := range sorted(i.has) {
		if name != "type" && !slices.Contains(allowed, name) {
			return invalid("Unknown parameter: '%s.%s'.", at, name)
		}
	}
	if prefix := prefixes[i.Type]; i.has["id"] && !strings.HasPrefix(i.ID, prefix) {
		return invalid("Invalid '%s.id': '%s'. Expected an ID that begins with '%s'.", at, i.ID, prefix)
	}
	switch i.Type {
	case "message":
		return i.checkMessage(at)
	case "function_call":
		return i.checkCall(at)
	case "function_call_output":
		return i.checkOutput(at)
	}
	return i.checkReasoning(at, s)
}

func (i *item) checkMessage(at string) *script.Problem {
	allowed := []string{"input_text", "input_image", "input_file"}
	switch {
	case !slices.Contains([]string{"user", "assistant", "system", "developer"}, i.Role):
		return invalid("Invalid value: '%s' at '%s.role'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", i.Role, at)
	case len(i.Content) == 0:
		return invalid("Missing required parameter: '%s.content'.", at)
	case i.Role == "assistant" && i.Content.Kind() != '"':
		allowed = []string{"output_text", "refusal"}
	case i.Role != "assistant" && (i.has["id"] || i.has["phase"]):
		return invalid("Unknown parameter: '%s' has an id or a phase, which are for messages of the assistant.", at)
	}
	if i.has["phase"] && i.Phase != "commentary" && i.Phase != "final_answer" {
		return invalid("Invalid value: '%s' at '%s.phase'.", i.Phase, at)
	}
	return checkContents(at+".content", i.Content, allowed)
}

func (i *item) checkCall(at string) *script.Problem {
	switch {
	case !i.has["call_id"] || !i.has["name"] || !i.has["arguments"]:
		return invalid("Missing required parameter: '%s' needs 'call_id', 'name' and 'arguments'.", at)
	case i.CallID == "" || len(i.CallID) > 64:
		return invalid("Invalid '%s.call_id': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", at, len(i.CallID))
	case !toolName.MatchString(i.Name):
		return invalid("Invalid '%s.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at)
	}
	return nil
}

func (i *item) checkOutput(at string) *script.Problem {
	if !i.has["call_id"] || !i.has["output"] {
		return invalid("Missing required parameter: '%s' needs 'call_id' and 'output'.", at)
	}
	return checkContents(at+".output", i.Output, []string{"input_text", "input_image", "input_file"})
}

// checkReasoning: nothing is kept, so what is encrypted has to be there, and to be ours.
func (i *item) checkReasoning(at string, s *script.Script) *script.Problem {
	switch {
	case !i.has["id"]:
		return invalid("Missing required parameter: '%s.id'.", at)
	case !i.has["summary"]:
		return invalid("Missing required parameter: '%s.summary'.", at)
	case i.Encrypted == nil || *i.Encrypted == "":
		return script.KindProblem(http.StatusNotFound, "Item with id '%s' not found. Items are not persisted when `store` is set to false. "+
			"Try again with `store` set to true, or remove this item from your input.", i.ID)
	}
	var paragraphs []string
	for _, c := range i.Summary {
		if c.Type != "summary_text" {
			return invalid("Invalid value: '%s' at '%s.summary'. Supported values are: 'summary_text'.", c.Type, at)
		}
		paragraphs = append(paragraphs, c.Text)
	}
	thought := strings.Join(paragraphs, between)
	if !s.Gave(thought, *i.Encrypted) && (thought != "" || !s.GaveRedacted(*i.Encrypted)) {
		return invalid("The encrypted content for item %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", i.ID)
	}
	return nil
}

// What content of a type may have beside its type.
var contentFields = map[string][]string{
	"input_text":  {"text"},
	"input_image": {"image_url", "detail", "file_id"},
	"input_file":  {"filename", "file_data", "file_url", "file_id"},
	"output_text": {"text", "annotations", "logprobs"},
	"refusal":     {"refusal"},
}

func checkContents(at string, raw []byte, allowed []string) *script.Problem {
	list, err := contents(raw)
	if err != nil {
		return invalid("Invalid type for '%s': expected a string or an array of objects.", at)
	}
	if len(raw) > 0 && raw[0] == '"' {
		return nil
	}
	if len(list) == 0 {
		return invalid("Invalid '%s': empty array. Expected an array with minimum length 1, but got an empty array instead.", at)
	}
	for i, c := range list {
		at := fmt.Sprintf("%s[%d]", at, i)
		if !slices.Contains(allowed, c.Type) {
			return invalid("Invalid value: '%s' at '%s'. Supported values are: '%s'.", c.Type, at, strings.Join(allowed, "', '"))
		}
		for _, name := range sorted(c.has) {
			if name != "type" && !slices.Contains(contentFields[c.Type], name) {
				return invalid("Unknown parameter: '%s.%s'.", at, name)
			}
		}
		if p := c.check(at); p != nil {
			return p
		}
	}
	return nil
}

func (c content) check(at string) *script.Problem {
	switch c.Type {
	case "input_text", "output_text":
		if !c.has["text"] {
			return invalid("Missing required parameter: '%s.text'.", at)
		}
	case "refusal":
		if c.Refusal == "" {
			return invalid("Missing required parameter: '%s.refusal'.", at)
		}
	case "input_image":
		return checkAddress(at+".image_url", c.ImageURL, "image/png", "image/jpeg", "image/gif", "image/webp")
	case "input_file":
		switch given := len(strings.Fields(c.FileData + " " + c.FileURL + " " + c.FileID)); {
		case given != 1:
			return invalid("Invalid '%s': exactly one of 'file_data', 'file_url' and 'file_id' is needed.", at)
		case c.FileData != "" && c.Filename == "":
			return invalid("Missing required parameter: '%s.filename'.", at)
		case c.FileData != "":
			return checkAddress(at+".file_data", c.FileData, "application/pdf")
		}
		return checkAddress(at+".file_url", c.FileURL)
	}
	return nil
}

// checkAddress looks at an address, or at bytes in one.
func checkAddress(at, address string, kinds ...string) *script.Problem {
	if strings.HasPrefix(address, "https://") || strings.HasPrefix(address, "http://") {
		return nil
	}
	rest, _ := strings.CutPrefix(address, "data:")
	kind, data, ok := strings.Cut(rest, ";base64,")
	raw, err := base64.StdEncoding.DecodeString(data)
	switch {
	case !ok || !slices.Contains(kinds, kind):
		return invalid("Invalid '%s'. Expected a valid URL, but got a value with an invalid format.", at)
	case err != nil || len(raw) == 0 || strings.ContainsAny(data, "\r\n"):
		return invalid("Invalid '%s'. Expected a base64-encoded data URL, but got an invalid base64 value.", at)
	}
	return nil
}
