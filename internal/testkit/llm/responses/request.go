package responses

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
	"github.com/perstack-go/perstack/rawjson"
)

// request is a body, as far as it is looked at.
type request struct {
	Model        string        `json:"model"`
	Stream       bool          `json:"stream"`
	Store        *bool         `json:"store"`
	Input        items         `json:"input"`
	Tools        []tool        `json:"tools"`
	ToolChoice   rawjson.Value `json:"tool_choice"`
	Include      []string      `json:"include"`
	MaxTokens    *int          `json:"max_output_tokens"`
	MaxToolCalls *int          `json:"max_tool_calls"`
	Reasoning    *struct {
		Effort  *string `json:"effort"`
		Summary *string `json:"summary"`
	} `json:"reasoning"`
}

// items are the conversation. A plain text stands for one message of the user.
type items []item

func (l *items) UnmarshalJSON(data []byte) error {
	if rawjson.Value(data).Kind() != '"' {
		return json.Unmarshal(data, (*[]item)(l))
	}
	*l = items{{Type: "message", Role: "user", Content: rawjson.Value(data).Clone(), has: map[string]bool{}}}
	return nil
}

// item is one element of the conversation; which members it has depends on its type.
type item struct {
	Type      string        `json:"type"`
	ID        string        `json:"id"`
	Role      string        `json:"role"`
	Phase     string        `json:"phase"`
	Content   rawjson.Value `json:"content"`
	CallID    string        `json:"call_id"`
	Name      string        `json:"name"`
	Arguments string        `json:"arguments"`
	Output    rawjson.Value `json:"output"`
	Summary   []content     `json:"summary"`
	Encrypted *string       `json:"encrypted_content"`

	has map[string]bool
	raw string
}

func (i *item) UnmarshalJSON(data []byte) error {
	type plain item
	has, err := names(data)
	if err != nil {
		return err
	}
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &kind); err != nil {
		return err
	}
	if !isRun(kind.Type) { // what the provider ran has members of the same names and other shapes
		if err := json.Unmarshal(data, (*plain)(i)); err != nil {
			return err
		}
	}
	i.Type, i.has, i.raw = kind.Type, has, string(data)
	if i.Type == "" && has["role"] {
		i.Type = "message"
	}
	return nil
}

// content is an element of a message, of a result or of a summary.
type content struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Refusal  string `json:"refusal"`
	ImageURL string `json:"image_url"`
	Detail   string `json:"detail"`
	FileID   string `json:"file_id"`
	FileData string `json:"file_data"`
	FileURL  string `json:"file_url"`
	Filename string `json:"filename"`

	has map[string]bool
}

func (c *content) UnmarshalJSON(data []byte) error {
	type plain content
	has, err := names(data)
	if err != nil {
		return err
	}
	c.has = has
	return json.Unmarshal(data, (*plain)(c))
}

// names are the members of an object.
func names(data []byte) (map[string]bool, error) {
	var members map[string]rawjson.Value
	if err := json.Unmarshal(data, &members); err != nil {
		return nil, err
	}
	has := map[string]bool{}
	for name := range members {
		has[name] = true
	}
	return has, nil
}

// contents reads a text, or a list.
func contents(raw rawjson.Value) ([]content, error) {
	if raw.Kind() == '"' {
		c := content{Type: "input_text"}
		return []content{c}, json.Unmarshal(raw, &c.Text)
	}
	var list []content
	err := json.Unmarshal(raw, &list)
	return list, err
}

// tool is one that is offered.
type tool struct {
	Type       string        `json:"type"`
	Name       string        `json:"name"`
	Parameters rawjson.Value `json:"parameters"`
	Strict     *bool         `json:"strict"`
	Stores     []string      `json:"vector_store_ids"`
	MaxResults *int          `json:"max_num_results"`
	Container  rawjson.Value `json:"container"`
	Filters    rawjson.Value `json:"filters"`

	has map[string]bool
}

func (t *tool) UnmarshalJSON(data []byte) error {
	type plain tool
	has, err := names(data)
	if err != nil {
		return err
	}
	t.has = has
	return json.Unmarshal(data, (*plain)(t))
}

// text is what an item says, in the words of its content.
func (i *item) text() string {
	raw := i.Content
	if i.Type == "function_call_output" {
		raw = i.Output
	}
	if len(raw) == 0 {
		return ""
	}
	list, err := contents(raw)
	if err != nil {
		return ""
	}
	var lines []string
	for _, c := range list {
		if c.Text != "" {
			lines = append(lines, c.Text)
		}
	}
	return strings.Join(lines, "\n")
}

func (i *item) isSystem() bool {
	return i.Type == "message" && (i.Role == "system" || i.Role == "developer")
}

// isAnswer is true for what the model wrote, or ran.
func (i *item) isAnswer() bool {
	return i.Type == "message" && i.Role == "assistant" || i.Type != "message" && i.Type != "function_call_output"
}

// asked is what the rules of a script look at. Items without an answer between them are one
// message.
func (r *request) asked() script.Asked {
	a := script.Asked{Turn: 1, Model: r.Model}
	if r.MaxTokens != nil {
		a.MaxTokens = *r.MaxTokens
	}
	var system []string
	var said [][]string // by others than the model, between its answers
	answering := true
	for i := range r.Input {
		item := &r.Input[i]
		switch {
		case item.isSystem():
			system = append(system, item.text())
			continue
		case item.isAnswer():
			if !answering {
				a.Turn++
			}
			answering = true
			continue
		case answering:
			said = append(said, nil)
		}
		answering = false
		said[len(said)-1] = append(said[len(said)-1], item.text())
	}
	a.System = strings.Join(system, "\n")
	if n := len(said); n > 0 {
		a.Query, a.Last = strings.Join(said[0], "\n"), strings.Join(said[n-1], "\n")
	}
	return a
}

func sorted(has map[string]bool) []string { return slices.Sorted(maps.Keys(has)) }
