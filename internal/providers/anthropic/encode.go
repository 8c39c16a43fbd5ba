package anthropic

import (
	"bytes"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// encoded is a message as the API takes it: its content blocks, joined by commas.
type encoded struct {
	voice   wire.Voice
	open    []byte // without the last brace, so that a mark can be put before it
	media   int    // what images and files weigh, in bytes
	images  int
	hosted  []hosting
	sandbox *sandbox // in which the provider ran code; nil if it did not
}

// Voice is what [wire.Conversation] asks for.
func (e *encoded) Voice() wire.Voice { return e.voice }

// A block is one element of a message's content.
type block struct {
	Type      string        `json:"type"`
	Text      string        `json:"text,omitzero"`
	Citations rawjson.Value `json:"citations,omitzero"`
	Source    *source       `json:"source,omitzero"`
	ID        string        `json:"id,omitzero"`
	Name      string        `json:"name,omitzero"`
	Input     rawjson.Value `json:"input,omitzero"`
	ToolUseID string        `json:"tool_use_id,omitzero"`
	Content   any           `json:"content,omitzero"` // of a result: a text, or a list of blocks
	IsError   bool          `json:"is_error,omitzero"`
	Thinking  *string       `json:"thinking,omitzero"` // may be empty, but not absent
	Signature string        `json:"signature,omitzero"`
	Data      string        `json:"data,omitzero"`

	kept   rawjson.Value // of a block that goes back as it came: all of it
	media  int
	images int
}

const (
	typeText     = "text"
	typeThinking = "thinking"
	typeRedacted = "redacted_thinking"
	typeToolUse  = "tool_use"
	typeResult   = "tool_result"
	typeKept     = "" // it has one of its own
)

func (b *block) isThought() bool { return b.Type == typeThinking || b.Type == typeRedacted }

// encode writes a block. Nothing may be appended to it.
func (b *block) encode() []byte {
	if b.kept != nil {
		return slices.Clip(b.kept)
	}
	return marshal(b)
}

func marshal(v any) []byte {
	return wire.Marshal(v, func(line string) any { return block{Type: typeText, Text: line} })
}

type encoder struct {
	author string
	known  model.Known
	slim   bool // without media, which were sent before
	spent  int  // bytes of media so far
	images int  // so far

	without map[string]bool // calls of the provider's own that are left out
	sandbox *sandbox
}

// message writes a message. Thoughts of others than the author are left out, and what
// other providers ran: their marks mean nothing here.
func (e *encoder) message(m *event.Message) *encoded {
	out := &encoded{voice: wire.Voice{Role: wire.RoleUser, OnlyResults: true}}
	var blocks []block
	switch m.Type {
	case event.InstructionMessage:
		blocks = appendText(nil, wire.JoinLines(m.Contents))
	case event.ExpertMessage:
		out.voice.Role = wire.RoleAssistant
		blocks = e.assistant(m, m.Author == e.author)
	default:
		for i := range m.Contents {
			blocks = e.appendPart(blocks, &m.Contents[i], false)
		}
	}
	for i := range blocks {
		b := &blocks[i]
		if i == 0 {
			out.open = b.encode() // most have one block, and it may be large: no copy
		} else {
			out.open = append(append(out.open, ','), b.encode()...)
		}
		out.voice.Thinks = out.voice.Thinks || i == 0 && b.isThought()
		out.voice.OnlyResults = out.voice.OnlyResults && b.Type == typeResult
		out.voice.Markable = !b.isThought() && b.kept == nil
		out.media += b.weight()
		out.images += b.images
		if b.kept != nil {
			out.hosted = append(out.hosted, hostingOf(b.kept))
		}
	}
	out.voice.Empty = len(blocks) == 0
	out.open, out.sandbox = bytes.TrimSuffix(out.open, []byte("}")), e.sandbox
	return out
}

func (b *block) weight() int {
	if b.Source != nil {
		return len(b.Source.Data)
	}
	return b.media
}

// appendText adds a text block. The API refuses blank ones.
func appendText(blocks []block, text string) []block {
	if strings.TrimSpace(text) == "" {
		return blocks
	}
	return append(blocks, block{Type: typeText, Text: text})
}

func (e *encoder) assistant(m *event.Message, own bool) (blocks []block) {
	for i := range m.Contents {
		p := &m.Contents[i]
		switch p.Type {
		case event.TextPart:
			// As the last words of a request they must not end in space.
			n := len(blocks)
			blocks = appendText(blocks, strings.TrimRight(p.Text, " \t\r\n"))
			if own && len(blocks) > n {
				blocks[n].Citations = citations(p.ProviderData)
			}
		case event.ToolCallPart:
			blocks = append(blocks, block{Type: typeToolUse, ID: wire.Identifier(p.ToolCallID, maxName), Name: wire.ToolName(p.ToolName, maxName), Input: wire.Object(p.Args)})
		case event.ThinkingPart:
			if own {
				blocks = append(blocks, thought(p)...)
			}
		case event.ProviderPart:
			kept := rawjson.Value(bytes.TrimSpace(p.ProviderData))
			if p.ToolName == typeSandbox {
				if s := sandboxOf(kept); own && s != nil {
					e.sandbox = s
				}
				continue
			}
			if own && kept.Kind() == '{' && kept.IsValid() && !e.without[hostingOf(kept).Call] {
				blocks = append(blocks, block{Type: typeKept, kept: kept})
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
	if len(p.ProviderData) > 0 && wire.Decode(p.ProviderData, &hidden) == nil && hidden.Type == typeRedacted && hidden.Data != "" {
		return []block{{Type: typeRedacted, Data: hidden.Data}}
	}
	return nil
}

func (e *encoder) appendPart(blocks []block, p *event.Part, fromTool bool) []block {
	switch {
	case p.Type == event.TextPart:
		return appendText(blocks, p.Text)
	case p.Type == event.ToolResultPart && !fromTool:
		return append(blocks, e.result(p))
	}
	return append(blocks, e.media(p, fromTool))
}

// result is what a tool returned: a text as a string, anything else as a list. A failed
// result may hold nothing but text, and must hold some.
func (e *encoder) result(p *event.Part) block {
	b := block{Type: typeResult, ToolUseID: wire.Identifier(p.ToolCallID, maxName), IsError: p.IsError}
	if len(p.Contents) == 1 && p.Contents[0].Type == event.TextPart {
		text := p.Contents[0].Text
		if text == "" && p.IsError {
			text = "Error"
		}
		b.Content = text
		return b
	}
	var list []block
	for i := range p.Contents {
		list = e.appendPart(list, &p.Contents[i], true)
	}
	for i := range list {
		b.IsError = b.IsError && list[i].Type == typeText
		b.media += list[i].weight()
		b.images += list[i].images
	}
	switch {
	case len(list) > 0:
		b.Content = list
	case p.IsError:
		b.Content = "Error"
	default:
		b.Content = ""
	}
	return b
}
