package converse

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
	"github.com/perstack-go/perstack/rawjson"
)

// request is the body of a request, with all members that the service documents.
type request struct {
	Messages       []message     `json:"messages"`
	System         []block       `json:"system"`
	ToolConfig     *toolConfig   `json:"toolConfig"`
	Inference      inference     `json:"inferenceConfig"`
	Fields         fields        `json:"additionalModelRequestFields"`
	ResponsePaths  []string      `json:"additionalModelResponseFieldPaths"`
	Guardrail      *guardrail    `json:"guardrailConfig"`
	Metadata       rawjson.Value `json:"requestMetadata"`
	Output         rawjson.Value `json:"outputConfig"`
	Performance    rawjson.Value `json:"performanceConfig"`
	PromptVariable rawjson.Value `json:"promptVariables"`
	ServiceTier    rawjson.Value `json:"serviceTier"`
}

type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// A block is one element of content: one of its members, and no other.
type block struct {
	Text       *string     `json:"text"`
	Image      *medium     `json:"image"`
	Document   *medium     `json:"document"`
	ToolUse    *toolUse    `json:"toolUse"`
	ToolResult *toolResult `json:"toolResult"`
	Reasoning  *reasoning  `json:"reasoningContent"`
	CachePoint *cachePoint `json:"cachePoint"`
}

type medium struct {
	Format string `json:"format"`
	Name   string `json:"name"`
	Source struct {
		Bytes []byte `json:"bytes"`
	} `json:"source"`
}

type toolUse struct {
	ID    string        `json:"toolUseId"`
	Name  string        `json:"name"`
	Input rawjson.Value `json:"input"`
}

type toolResult struct {
	ID      string  `json:"toolUseId"`
	Content []block `json:"content"`
	Status  string  `json:"status"`
}

type reasoning struct {
	Text *struct {
		Text      string `json:"text"`
		Signature string `json:"signature"`
	} `json:"reasoningText"`
	Redacted string `json:"redactedContent"`
}

type cachePoint struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

type toolConfig struct {
	Tools  []tool                   `json:"tools"`
	Choice map[string]rawjson.Value `json:"toolChoice"`
}

type tool struct {
	Spec *struct {
		Name        string  `json:"name"`
		Description *string `json:"description"`
		Schema      struct {
			JSON rawjson.Value `json:"json"`
		} `json:"inputSchema"`
		Strict *bool `json:"strict"`
	} `json:"toolSpec"`
	CachePoint *cachePoint `json:"cachePoint"`
}

type inference struct {
	MaxTokens     *int     `json:"maxTokens"`
	Temperature   *float64 `json:"temperature"`
	TopP          *float64 `json:"topP"`
	StopSequences []string `json:"stopSequences"`
}

// fields are those of the model, which may have others.
type fields struct {
	Thinking *struct {
		Type    string `json:"type"`
		Budget  int    `json:"budget_tokens"`
		Display string `json:"display"`
	} `json:"thinking"`
	Rest map[string]rawjson.Value `json:",embed"`
}

type guardrail struct {
	Identifier string `json:"guardrailIdentifier"`
	Version    string `json:"guardrailVersion"`
	Trace      string `json:"trace"`
	Mode       string `json:"streamProcessingMode"`
}

// decode reads a body. What the service has no name for is refused.
func decode(body []byte) (*request, *script.Problem) {
	var req request
	if err := json.Unmarshal(body, &req, json.RejectUnknownMembers(true)); err != nil {
		var unknown *json.SemanticError
		if errors.As(err, &unknown) && errors.Is(err, json.ErrUnknownName) {
			return nil, invalid("Malformed input request: extraneous key at %s is not permitted, please reformat your input and try again.", unknown.JSONPointer)
		}
		return nil, invalid("Malformed input request: %v, please reformat your input and try again.", err)
	}
	return &req, nil
}

// asked is what the rules of a script look at.
func (r *request) asked() script.Asked {
	a := script.Asked{System: textOf(r.System), Turn: 1}
	if r.Inference.MaxTokens != nil {
		a.MaxTokens = *r.Inference.MaxTokens
	}
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			a.Turn++
		}
	}
	if n := len(r.Messages); n > 0 {
		a.Query, a.Last = textOf(r.Messages[0].Content), textOf(r.Messages[n-1].Content)
	}
	return a
}

// textOf is the text in blocks, with one line for each, results of tools included.
func textOf(blocks []block) string {
	var lines []string
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			lines = append(lines, *b.Text)
		case b.ToolResult != nil:
			lines = append(lines, textOf(b.ToolResult.Content))
		}
	}
	return strings.Join(lines, "\n")
}

// members counts what a block is. It has to be one thing.
func (b *block) members() (n int) {
	for _, has := range []bool{b.Text != nil, b.Image != nil, b.Document != nil, b.ToolUse != nil, b.ToolResult != nil, b.Reasoning != nil, b.CachePoint != nil} {
		if has {
			n++
		}
	}
	return n
}

func (m *message) has(is func(*block) bool) bool {
	return slices.ContainsFunc(m.Content, func(b block) bool { return is(&b) })
}
