package gemini

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
	"github.com/perstack-go/perstack/rawjson"
)

func itoa(n int) string { return strconv.Itoa(n) }

// A request is a body, with every member that the service knows and perstack may send.
type request struct {
	in    service
	model string
	third bool

	Contents          []content     `json:"contents"`
	SystemInstruction *content      `json:"systemInstruction"`
	Tools             []tool        `json:"tools"`
	ToolConfig        *toolConfig   `json:"toolConfig"`
	Generation        generation    `json:"generationConfig"`
	Safety            []safety      `json:"safetySettings"`
	CachedContent     string        `json:"cachedContent"`
	Labels            rawjson.Value `json:"labels"`
}

type content struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

type part struct {
	raw rawjson.Value

	Text      *string           `json:"text"`
	Thought   bool              `json:"thought"`
	Signature string            `json:"thoughtSignature"`
	Call      *functionCall     `json:"functionCall"`
	Response  *functionResponse `json:"functionResponse"`
	Inline    *blob             `json:"inlineData"`
	File      *file             `json:"fileData"`

	Code         rawjson.Value `json:"executableCode"`
	CodeResult   rawjson.Value `json:"codeExecutionResult"`
	ToolCall     rawjson.Value `json:"toolCall"`
	ToolResponse rawjson.Value `json:"toolResponse"`
}

type functionCall struct {
	ID   string                   `json:"id"`
	Name string                   `json:"name"`
	Args map[string]rawjson.Value `json:"args"`
}

type functionResponse struct {
	ID       string                   `json:"id"`
	Name     string                   `json:"name"`
	Response map[string]rawjson.Value `json:"response"`
	Parts    []struct {
		Inline *blob `json:"inlineData"`
	} `json:"parts"`
}

type blob struct {
	Type string `json:"mimeType"`
	Data []byte `json:"data"` // base64
}

type file struct {
	Type string `json:"mimeType"`
	URI  string `json:"fileUri"`
}

type tool struct {
	Functions []struct {
		Name        string  `json:"name"`
		Description string  `json:"description"`
		Parameters  *schema `json:"parameters"`
	} `json:"functionDeclarations"`
	GoogleSearch  *empty `json:"googleSearch"`
	CodeExecution *empty `json:"codeExecution"`
	URLContext    *empty `json:"urlContext"`
	GoogleMaps    *empty `json:"googleMaps"`
	Enterprise    *empty `json:"enterpriseWebSearch"`
	FileSearch    *struct {
		Stores []string `json:"fileSearchStoreNames"`
		TopK   int      `json:"topK"`
	} `json:"fileSearch"`
}

type empty struct{}

type toolConfig struct {
	Calling *struct {
		Mode    string   `json:"mode"`
		Allowed []string `json:"allowedFunctionNames"`
	} `json:"functionCallingConfig"`
	ServerSide bool `json:"includeServerSideToolInvocations"`
}

type generation struct {
	MaxOutputTokens *int      `json:"maxOutputTokens"`
	Temperature     *float64  `json:"temperature"`
	TopP            *float64  `json:"topP"`
	TopK            *float64  `json:"topK"`
	Seed            *int      `json:"seed"`
	Thinking        *thinking `json:"thinkingConfig"`
}

type thinking struct {
	Budget  *int   `json:"thinkingBudget"`
	Level   string `json:"thinkingLevel"`
	Include bool   `json:"includeThoughts"`
}

type safety struct {
	Category  string `json:"category"`
	Threshold string `json:"threshold"`
}

// UnmarshalJSONFrom keeps a part as it is written, beside what it means.
func (p *part) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type fields part // without the methods, or decoding would call itself
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, (*fields)(p), json.RejectUnknownMembers(true)); err != nil {
		return err
	}
	p.raw = rawjson.Value(raw.Clone())
	return nil
}

// decode reads a body. The JSON reader refuses what others read in two ways: names that
// occur twice, and text that is no UTF-8.
func (s service) decode(body []byte) (*request, *script.Problem) {
	var req request
	if err := json.Unmarshal(body, &req, json.RejectUnknownMembers(true)); err != nil {
		return nil, invalid("Invalid JSON payload received. Unknown name or wrong value: %v", err)
	}
	return &req, nil
}

// asked is what the request is about.
func (r *request) asked() script.Asked {
	a := script.Asked{Turn: 1, Model: r.model}
	if r.SystemInstruction != nil {
		a.System = r.SystemInstruction.text()
	}
	if n := r.Generation.MaxOutputTokens; n != nil {
		a.MaxTokens = max(*n, 0)
	}
	for i, c := range r.Contents {
		if i == 0 {
			a.Query = c.text()
		}
		if c.Role == "model" {
			a.Turn++
		}
		a.Last = c.text()
	}
	return a
}

// text is all that a content says, results of tools included.
func (c *content) text() string {
	var all []string
	for _, p := range c.Parts {
		switch {
		case p.Text != nil && *p.Text != "" && !p.Thought:
			all = append(all, *p.Text)
		case p.Response != nil:
			for _, name := range []string{"output", "error"} {
				var text string
				if json.Unmarshal(p.Response.Response[name], &text) == nil {
					all = append(all, text)
				}
			}
		}
	}
	return strings.Join(all, "\n")
}
