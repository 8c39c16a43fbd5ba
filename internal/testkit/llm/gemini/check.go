package gemini

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
	"github.com/perstack-go/perstack/rawjson"
)

// functionName is what the older models take; the newer take more.
var functionName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)

func (r *request) check(s *script.Script) *script.Problem {
	for _, check := range []func() *script.Problem{
		r.checkGeneration, r.checkTools, r.checkSystem,
		func() *script.Problem { return r.checkContents(s) },
		r.checkPairs, r.checkSigned,
	} {
		if p := check(); p != nil {
			return p
		}
	}
	return nil
}

func (r *request) checkSystem() *script.Problem {
	c := r.SystemInstruction
	switch {
	case c == nil:
		return nil
	case strings.HasPrefix(r.model, "gemma"):
		return invalid("Developer instruction is not enabled for models/%s", r.model)
	case len(c.Parts) == 0:
		return invalid("GenerateContentRequest.system_instruction.parts: must not be empty.")
	}
	for _, p := range c.Parts {
		if p.Text == nil || *p.Text == "" {
			return invalid("System instruction should not contain media.")
		}
	}
	return nil
}

func (r *request) checkContents(s *script.Script) *script.Problem {
	if len(r.Contents) == 0 {
		return invalid("* GenerateContentRequest.contents: contents is not specified")
	}
	for i, c := range r.Contents {
		switch {
		case c.Role != "user" && c.Role != "model":
			return invalid("Please use a valid role: user, model.")
		case len(c.Parts) == 0:
			return invalid("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.", i)
		}
		for j := range c.Parts {
			if p := r.checkPart(i, j, c.Role, &c.Parts[j], s); p != nil {
				return p
			}
		}
	}
	if last := r.Contents[len(r.Contents)-1]; last.Role != "user" {
		return invalid("Please ensure that single turn requests end with a user role or a function response.")
	}
	return nil
}

func (r *request) checkPart(i, j int, role string, p *part, s *script.Script) *script.Problem {
	set := 0
	for _, is := range []bool{
		p.Text != nil, p.Call != nil, p.Response != nil, p.Inline != nil, p.File != nil,
		p.Code != nil, p.CodeResult != nil, p.ToolCall != nil, p.ToolResponse != nil,
	} {
		if is {
			set++
		}
	}
	hosted := p.Code != nil || p.CodeResult != nil || p.ToolCall != nil || p.ToolResponse != nil
	switch {
	case set != 1:
		return invalid("* GenerateContentRequest.contents[%d].parts[%d].data: required oneof field 'data' must have one initialized field", i, j)
	case p.Text != nil && *p.Text == "" && p.Signature == "":
		return invalid("Unable to submit request because it must have a text parameter.")
	case p.Call != nil && role != "model":
		return invalid("Please ensure that function call turns are of the model.")
	case p.Response != nil && role != "user":
		return invalid("Please ensure that function response turns are of the user.")
	case p.Call != nil && !functionName.MatchString(p.Call.Name), p.Response != nil && !functionName.MatchString(p.Response.Name):
		return invalid("* GenerateContentRequest.contents[%d].parts[%d]: Invalid function name. Must start with a letter or an underscore.", i, j)
	case p.Response != nil && p.Response.Response == nil:
		return invalid("* GenerateContentRequest.contents[%d].parts[%d].function_response.response: required", i, j)
	case p.Thought && role != "model":
		return invalid("Thoughts are the model's.")
	case hosted && !s.GaveHosted(string(p.raw)):
		return invalid("Invalid part that the model did not give: %s", script.Short(string(p.raw)))
	}
	if p.Signature != "" && !r.isOurs(p, s) {
		return invalid("Corrupted thought signature.")
	}
	for _, b := range p.blobs() {
		if !isMedia(b.Type) {
			return invalid("Unsupported MIME type: %s", b.Type)
		}
		if len(b.Data) == 0 {
			return invalid("Unable to process input image.")
		}
	}
	return r.checkFile(p.File)
}

func (p *part) blobs() (all []*blob) {
	if p.Inline != nil {
		all = append(all, p.Inline)
	}
	if p.Response != nil {
		for _, one := range p.Response.Parts {
			all = append(all, one.Inline)
		}
	}
	return all
}

func isMedia(kind string) bool {
	return slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf", "text/plain"}, kind) ||
		strings.HasPrefix(kind, "audio/") || strings.HasPrefix(kind, "video/")
}

func (r *request) checkFile(f *file) *script.Problem {
	switch {
	case f == nil:
	case r.in.vertex && f.Type == "":
		return invalid("Unable to submit request because it has an empty mimeType parameter for fileData.")
	case !r.in.vertex && !strings.Contains(f.URI, "/v1beta/files/") && !strings.HasPrefix(f.URI, "https://www.youtube.com/"):
		return invalid("Invalid or unsupported file uri: %s", f.URI)
	}
	return nil
}

// checkPairs looks for the result of every call, in the content that follows it.
func (r *request) checkPairs() *script.Problem {
	var open []*functionCall
	for i, c := range r.Contents {
		var calls []*functionCall
		var results []*functionResponse
		for _, p := range c.Parts {
			if p.Call != nil {
				calls = append(calls, p.Call)
			}
			if p.Response != nil {
				results = append(results, p.Response)
			}
		}
		switch {
		case len(calls) > 0 && i == 0, len(calls) > 0 && r.Contents[i-1].Role != "user":
			return invalid("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		case len(results) > 0 && len(open) == 0:
			return invalid("Please ensure that function response turn comes immediately after a function call turn.")
		case len(results) != len(open):
			return invalid("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
		}
		for j, result := range results {
			if result.Name != open[j].Name || result.ID != open[j].ID {
				return invalid("function response %d is for %s %q, but the call was of %s %q", j, result.Name, result.ID, open[j].Name, open[j].ID)
			}
		}
		open = calls
	}
	return nil
}

// skipped are the words that Google documents for calls of others.
var skipped = []string{"skip_thought_signature_validator", "context_engineering_is_the_way_to_go"}

// checkSigned asks for the signatures of this turn's calls, as models from Gemini 3 on do:
// the first call of each step has one. A turn begins where a user says something.
func (r *request) checkSigned() *script.Problem {
	if !r.third {
		return nil
	}
	for i := len(r.Contents) - 1; i >= 0; i-- {
		c := r.Contents[i]
		if c.Role == "user" && slices.ContainsFunc(c.Parts, func(p part) bool { return p.Response == nil }) {
			return nil
		}
		if at := slices.IndexFunc(c.Parts, func(p part) bool { return p.Call != nil }); at >= 0 && c.Parts[at].Signature == "" {
			return invalid("Function call is missing a thought_signature in functionCall parts. Function call `%s`, position %d.", c.Parts[at].Call.Name, i)
		}
	}
	return nil
}

// A seal is what a signature of ours says: which thought it stands for, and on which part
// it was given.
type seal struct {
	Thought   string        `json:"thought"`
	Signature string        `json:"signature"`
	Call      string        `json:"call"`
	Args      rawjson.Value `json:"args"`
}

func (s seal) encode() string {
	_ = (*jsontext.Value)(&s.Args).Canonicalize() // arguments that are none stand as they are
	text, err := json.Marshal(s)
	if err != nil {
		text = []byte(s.Signature)
	}
	return base64.StdEncoding.EncodeToString(text)
}

// isOurs reports whether a signature was given, with this part.
func (r *request) isOurs(p *part, s *script.Script) bool {
	if slices.Contains(skipped, p.Signature) {
		return p.Call != nil
	}
	text, err := base64.StdEncoding.DecodeString(p.Signature)
	var was seal
	if err != nil || json.Unmarshal(text, &was) != nil || !s.Gave(was.Thought, was.Signature) {
		return false
	}
	if p.Call == nil {
		return was.Call == "" && p.Text != nil && *p.Text == "" && !p.Thought
	}
	var call struct {
		Call struct {
			Args rawjson.Value `json:"args"`
		} `json:"functionCall"`
	}
	if json.Unmarshal(p.raw, &call) != nil || (*jsontext.Value)(&call.Call.Args).Canonicalize() != nil {
		return false
	}
	return was.Call == p.Call.Name && string(was.Args) == string(call.Call.Args)
}
