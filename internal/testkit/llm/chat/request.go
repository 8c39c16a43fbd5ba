package chat

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
	"github.com/perstack-go/perstack/rawjson"
)

// A Request is the body of a request, as far as it is looked at.
type Request struct {
	Model               string         `json:"model"`
	Messages            []Message      `json:"messages"`
	Stream              bool           `json:"stream"`
	StreamOptions       *StreamOptions `json:"stream_options"`
	MaxTokens           *int           `json:"max_tokens"`
	MaxCompletionTokens *int           `json:"max_completion_tokens"`
	Temperature         *float64       `json:"temperature"`
	Tools               []Tool         `json:"tools"`
	ToolChoice          rawjson.Value  `json:"tool_choice"`
	ReasoningEffort     string         `json:"reasoning_effort"`
	Thinking            *Thinking      `json:"thinking"`
}

// StreamOptions say what is told beside the answer.
type StreamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// Thinking switches the thinking of a model of DeepSeek.
type Thinking struct {
	Type string `json:"type"`
}

// A Tool is a function that the model may call.
type Tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string        `json:"name"`
		Description string        `json:"description"`
		Parameters  rawjson.Value `json:"parameters"`
		Strict      *bool         `json:"strict"`
	} `json:"function"`
}

// A Message is one message of the conversation.
type Message struct {
	Role       string        `json:"role"`
	Content    rawjson.Value `json:"content"` // a text, a list of parts, or nothing
	Reasoning  *string       `json:"reasoning_content"`
	ToolCalls  []Call        `json:"tool_calls"`
	ToolCallID string        `json:"tool_call_id"`

	names []string // of all members
	parts []Part   // of the content; a text is one
}

// A Call is a call of a function.
type Call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string        `json:"name"`
		Arguments rawjson.Value `json:"arguments"` // a text
	} `json:"function"`
}

// A Part is one piece of a message's content.
type Part struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL *struct {
		URL    string `json:"url"`
		Detail string `json:"detail"`
	} `json:"image_url"`
	File *struct {
		Name string `json:"filename"`
		Data string `json:"file_data"`
	} `json:"file"`
}

// UnmarshalJSON reads a message, and keeps the names of its members.
func (m *Message) UnmarshalJSON(data []byte) error {
	type plain Message
	if err := json.Unmarshal(data, (*plain)(m)); err != nil {
		return err
	}
	var members map[string]rawjson.Value
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	for name := range members {
		m.names = append(m.names, name)
	}
	slices.Sort(m.names)
	switch m.Content.Kind() {
	case '"':
		m.parts = []Part{{Type: "text"}}
		return json.Unmarshal(m.Content, &m.parts[0].Text)
	case '[':
		return json.Unmarshal(m.Content, &m.parts, json.RejectUnknownMembers(true))
	}
	return nil
}

// Text is all text of the message, with a line for each part.
func (m *Message) Text() string {
	var lines []string
	for _, p := range m.parts {
		if p.Type == "text" {
			lines = append(lines, p.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// asked is what the rules of a script look at. What one speaker says in several messages
// is one message there: other wires have it as one.
func (r *Request) asked() script.Asked {
	a := script.Asked{Turn: 1, Model: r.Model}
	for _, limit := range []*int{r.MaxTokens, r.MaxCompletionTokens} {
		if limit != nil {
			a.MaxTokens = *limit
		}
	}
	var system, last []string
	for i := range r.Messages {
		switch m := &r.Messages[i]; m.Role {
		case "system", "developer":
			system = append(system, m.Text())
		case "assistant":
			a.Turn++
			last = nil
		default:
			last = append(last, m.Text())
		}
		if a.Turn == 1 {
			a.Query = strings.Join(last, "\n")
		}
	}
	a.System, a.Last = strings.Join(system, "\n"), strings.Join(last, "\n")
	return a
}
