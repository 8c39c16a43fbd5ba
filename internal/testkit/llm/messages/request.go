package messages

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
	"github.com/perstack-go/perstack/rawjson"
)

// A Request is the body of a request, as far as tests ask about it.
type Request struct {
	Model       string        `json:"model"`
	MaxTokens   int           `json:"max_tokens"`
	Stream      bool          `json:"stream"`
	System      Blocks        `json:"system"`
	Messages    []Message     `json:"messages"`
	Tools       []Tool        `json:"tools"`
	ToolChoice  *ToolChoice   `json:"tool_choice"`
	Thinking    *Thinking     `json:"thinking"`
	Output      *OutputConfig `json:"output_config"`
	Temperature *float64      `json:"temperature"`
	Cache       rawjson.Value `json:"cache_control"`
}

// A Message is one message of the conversation.
type Message struct {
	Role    string `json:"role"`
	Content Blocks `json:"content"`
}

// A Tool is a tool that the model may call. Type is empty for those of the client.
type Tool struct {
	Type        string        `json:"type"`
	Name        string        `json:"name"`
	Description string        `json:"description"`
	InputSchema rawjson.Value `json:"input_schema"`
	Cache       rawjson.Value `json:"cache_control"`
}

// A ToolChoice says whether the model may, must or must not call tools.
type ToolChoice struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// Thinking asks for reasoning.
type Thinking struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens"`
	Display string `json:"display"`
}

// OutputConfig says how much work an answer is worth.
type OutputConfig struct {
	Effort string `json:"effort"`
}

// Blocks is content. The wire has a plain text for a single block of text.
type Blocks []Block

// A Block is one piece of content; which fields it has depends on its type.
type Block struct {
	Type      string        `json:"type"`
	Text      string        `json:"text"`
	Thinking  string        `json:"thinking"`
	Signature string        `json:"signature"`
	Data      string        `json:"data"`
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Input     rawjson.Value `json:"input"`
	ToolUseID string        `json:"tool_use_id"`
	Content   rawjson.Value `json:"content"`
	IsError   bool          `json:"is_error"`
	Source    rawjson.Value `json:"source"`
	Cache     rawjson.Value `json:"cache_control"`

	names []string      // of all members, sorted
	raw   rawjson.Value // as it came
}

// UnmarshalJSON reads a text or a list of blocks.
func (b *Blocks) UnmarshalJSON(data []byte) error {
	if rawjson.Value(data).Kind() != '"' {
		return json.Unmarshal(data, (*[]Block)(b))
	}
	text := Block{Type: "text", names: []string{"text", "type"}}
	if err := json.Unmarshal(data, &text.Text); err != nil {
		return err
	}
	*b = Blocks{text}
	return nil
}

// UnmarshalJSON reads a block and keeps the names of its members.
func (b *Block) UnmarshalJSON(data []byte) error {
	type plain Block
	if err := json.Unmarshal(data, (*plain)(b)); err != nil {
		return err
	}
	var members map[string]rawjson.Value
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	for name := range members {
		b.names = append(b.names, name)
	}
	slices.Sort(b.names)
	b.raw = rawjson.Value(data).Clone()
	return nil
}

// Result is the content of a tool_result.
func (b Block) Result() (Blocks, error) {
	if len(b.Content) == 0 {
		return nil, nil
	}
	var out Blocks
	err := json.Unmarshal(b.Content, &out)
	return out, err
}

// String is the text in the blocks, with one line for each, results of tools included.
func (b Blocks) String() string {
	var lines []string
	for _, block := range b {
		switch block.Type {
		case "text":
			lines = append(lines, block.Text)
		case "tool_result":
			if result, err := block.Result(); err == nil {
				lines = append(lines, result.String())
			}
		}
	}
	return strings.Join(lines, "\n")
}

// Turn is the number of the answer that is asked for.
func (r *Request) Turn() int {
	n := 1
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

// asked is what the rules of a script look at.
func (r *Request) asked() script.Asked {
	a := script.Asked{System: r.System.String(), Turn: r.Turn(), Model: r.Model, MaxTokens: r.MaxTokens}
	if n := len(r.Messages); n > 0 {
		a.Query = r.Messages[0].Content.String()
		a.Last = r.Messages[n-1].Content.String()
	}
	return a
}
