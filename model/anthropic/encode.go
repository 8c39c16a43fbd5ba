package anthropic

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
)

const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// encoded is a message as the API takes it: its content blocks, joined by commas.
type encoded struct {
	role        string
	open        []byte // without the last brace, so that a mark can be put before it
	markable    bool   // the last block may carry a mark
	thinks      bool   // the first block is a thought
	onlyResults bool   // all blocks are results of tools
}

func (e *encoded) empty() bool { return len(e.open) == 0 }

// A block is one element of a message's content.
type block struct {
	Type      string         `json:"type"`
	Text      string         `json:"text,omitzero"`
	Source    *source        `json:"source,omitzero"`
	ID        string         `json:"id,omitzero"`
	Name      string         `json:"name,omitzero"`
	Input     jsontext.Value `json:"input,omitzero"`
	ToolUseID string         `json:"tool_use_id,omitzero"`
	Content   *content       `json:"content,omitzero"`
	IsError   bool           `json:"is_error,omitzero"`
	Thinking  *string        `json:"thinking,omitzero"` // may be empty, but not absent
	Signature string         `json:"signature,omitzero"`
	Data      string         `json:"data,omitzero"`
}

// content is what a tool returned: a text, or a list of blocks. A text goes into the
// message as it is; it may be large, and is not copied before.
type content struct {
	text string
	list jsontext.Value
}

func (c *content) MarshalJSONTo(enc *jsontext.Encoder) error {
	if c.list != nil {
		return enc.WriteValue(c.list)
	}
	return enc.WriteToken(jsontext.String(c.text))
}

// UnmarshalJSONFrom leaves it out: no answer has results.
func (c *content) UnmarshalJSONFrom(dec *jsontext.Decoder) error { return dec.SkipValue() }

const (
	typeText     = "text"
	typeThinking = "thinking"
	typeRedacted = "redacted_thinking"
	typeToolUse  = "tool_use"
	typeResult   = "tool_result"
)

func (b *block) isThought() bool { return b.Type == typeThinking || b.Type == typeRedacted }

// encode writes a message. Thoughts of others than author are left out: their marks
// mean nothing here.
func encode(m *event.Message, author string) *encoded {
	e := &encoded{role: roleUser, onlyResults: true}
	var blocks []block
	switch m.Type {
	case event.InstructionMessage:
		blocks = appendText(nil, joinTexts(m.Contents))
	case event.ExpertMessage:
		e.role = roleAssistant
		blocks = assistantBlocks(m, m.Author == author)
	default:
		for i := range m.Contents {
			blocks = append(blocks, userBlocks(&m.Contents[i])...)
		}
	}
	for i := range blocks {
		b := &blocks[i]
		if i == 0 {
			e.open = marshal(b) // most have one block, and it may be large: no copy
		} else {
			e.open = append(append(e.open, ','), marshal(b)...)
		}
		e.thinks = e.thinks || i == 0 && b.isThought()
		e.onlyResults = e.onlyResults && b.Type == typeResult
		e.markable = !b.isThought()
	}
	e.open = bytes.TrimSuffix(e.open, []byte("}"))
	return e
}

// marshal encodes what cannot fail: raw values were checked, text is repaired.
func marshal(v any) []byte {
	data, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return marshal(block{Type: typeText, Text: fmt.Sprintf("[a part was left out: %v]", err)})
	}
	return data
}

func joinTexts(parts []event.Part) string {
	var texts []string
	for i := range parts {
		if parts[i].Type == event.TextPart {
			texts = append(texts, parts[i].Text)
		}
	}
	return strings.Join(texts, "\n")
}

// appendText adds a text block. The API refuses blank ones.
func appendText(blocks []block, text string) []block {
	if strings.TrimSpace(text) == "" {
		return blocks
	}
	return append(blocks, block{Type: typeText, Text: text})
}

func assistantBlocks(m *event.Message, own bool) (blocks []block) {
	for i := range m.Contents {
		p := &m.Contents[i]
		switch p.Type {
		case event.TextPart:
			// As the last words of a request they must not end in space.
			blocks = appendText(blocks, strings.TrimRight(p.Text, " \t\r\n"))
		case event.ToolCallPart:
			blocks = append(blocks, block{Type: typeToolUse, ID: identifier(p.ToolCallID), Name: identifier(p.ToolName), Input: object(p.Args)})
		case event.ThinkingPart:
			if own {
				blocks = append(blocks, thought(p)...)
			}
		}
	}
	return blocks
}

// thought gives a thought back as it came. One without a mark would be refused.
func thought(p *event.Part) []block {
	if p.Signature != "" {
		return []block{{Type: typeThinking, Thinking: &p.Thinking, Signature: p.Signature}}
	}
	var hidden block
	if len(p.ProviderData) > 0 && json.Unmarshal(p.ProviderData, &hidden) == nil && hidden.Type == typeRedacted && hidden.Data != "" {
		return []block{{Type: typeRedacted, Data: hidden.Data}}
	}
	return nil
}

func userBlocks(p *event.Part) []block {
	switch p.Type {
	case event.TextPart:
		return appendText(nil, p.Text)
	case event.ToolResultPart:
		return []block{result(p)}
	}
	return media(p)
}

// result is what a tool returned: a text as a string, anything else as a list. A failed
// result may hold nothing but text, and must hold some.
func result(p *event.Part) block {
	b := block{Type: typeResult, ToolUseID: identifier(p.ToolCallID), IsError: p.IsError}
	if len(p.Contents) == 1 && p.Contents[0].Type == event.TextPart {
		text := p.Contents[0].Text
		if text == "" && p.IsError {
			text = "Error"
		}
		b.Content = &content{text: text}
		return b
	}
	var list []block
	for i := range p.Contents {
		if p.Contents[i].Type != event.ToolResultPart {
			list = append(list, userBlocks(&p.Contents[i])...)
		}
	}
	for i := range list {
		b.IsError = b.IsError && list[i].Type == typeText
	}
	switch {
	case len(list) > 0:
		b.Content = &content{list: marshal(list)}
	case p.IsError:
		b.Content = &content{text: "Error"}
	default:
		b.Content = &content{}
	}
	return b
}

func quote(s string) jsontext.Value {
	quoted, _ := jsontext.AppendQuote(nil, s) // its error is about characters that it replaced
	return quoted
}

// object returns arguments that the API takes: an object, and nothing else.
func object(args jsontext.Value) jsontext.Value {
	if args.Kind() != '{' || !args.IsValid() {
		return jsontext.Value("{}")
	}
	return args
}

const maxIdentifier = 128

// identifier makes an id or a name that the API takes. Those of other providers have
// other characters; each becomes its number, so that two ids do not become one.
func identifier(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "_%x_", r)
		}
	}
	if b.Len() == 0 {
		return "unnamed"
	}
	return b.String()[:min(b.Len(), maxIdentifier)]
}
