package bedrock

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// encoded is a message as the API takes it: its content blocks, joined by commas. The
// name of a document must be the only one of its kind in a request, so its number is left
// open: it belongs between two pieces.
type encoded struct {
	voice     wire.Voice
	pieces    [][]byte
	documents int // numbers that it takes
	images    int
	media     int      // bytes
	tools     []string // that it mentions
}

// Voice is what [wire.Conversation] asks for.
func (e *encoded) Voice() wire.Voice { return e.voice }

// A block is one element of a message's content, in pieces like a message.
type block struct {
	kind   kind
	pieces [][]byte
}

type kind int

const (
	kindText kind = iota
	kindImage
	kindDocument
	kindThought
	kindCall
	kindResult
)

type encoder struct {
	own   bool // the message is the model's own: its thoughts mean something to it
	rich  bool // results may hold images and say that they are errors
	slim  bool // without media
	known *model.Known

	images, documents, media int // so far
}

func encode(m *event.Message, enc *encoder) *encoded {
	e := &encoded{voice: wire.Voice{Role: wire.RoleUser, OnlyResults: true}}
	var blocks []block
	switch m.Type {
	case event.InstructionMessage:
		blocks = appendText(nil, wire.JoinLines(m.Contents))
	case event.ExpertMessage:
		e.voice.Role = wire.RoleAssistant
		blocks = enc.assistant(m)
	default:
		blocks = enc.user(m)
	}
	for i, b := range blocks {
		if i > 0 {
			e.pieces = glue(e.pieces, text(`,`))
		}
		e.pieces = glue(e.pieces, b.pieces)
		e.voice.Thinks = e.voice.Thinks || i == 0 && b.kind == kindThought
		e.voice.OnlyResults = e.voice.OnlyResults && b.kind == kindResult
		// The service refuses a point behind a thought, and one behind some documents.
		e.voice.Markable = b.kind != kindThought && b.kind != kindDocument
	}
	for i := range m.Contents {
		if p := &m.Contents[i]; p.ToolName != "" && (p.Type == event.ToolCallPart || p.Type == event.ToolResultPart) {
			e.tools = append(e.tools, p.ToolName)
		}
	}
	e.voice.Empty = len(blocks) == 0
	e.documents, e.images, e.media = enc.documents, enc.images, enc.media
	return e
}

func text(s string) [][]byte { return [][]byte{[]byte(s)} }

// said is the block of a text, which may be large: it is copied once.
func said(words string) [][]byte {
	quoted, _ := jsontext.AppendQuote([]byte(`{"text":`), words) // its error is about characters that it replaced
	return [][]byte{append(quoted, '}')}
}

// glue joins pieces: where one ends and the next begins there is no number.
func glue(a [][]byte, rest ...[][]byte) [][]byte {
	for _, b := range rest {
		switch {
		case len(b) == 0:
		case len(a) == 0:
			a = b // most have one block, and it may be large: no copy
		default:
			last := len(a) - 1
			a[last] = append(a[last], b[0]...)
			a = append(a, b[1:]...)
		}
	}
	return a
}

// appendText adds a text block. The API refuses blank ones.
func appendText(blocks []block, words string) []block {
	if strings.TrimSpace(words) == "" {
		return blocks
	}
	return append(blocks, block{kindText, said(words)})
}

func (enc *encoder) assistant(m *event.Message) (blocks []block) {
	for i := range m.Contents {
		p := &m.Contents[i]
		switch p.Type {
		case event.TextPart:
			// As the last words of a request they must not end in space.
			blocks = appendText(blocks, strings.TrimRight(p.Text, " \t\r\n"))
		case event.ToolCallPart:
			blocks = append(blocks, block{kindCall, text(`{"toolUse":{"toolUseId":"` + callID(p.ToolCallID) + `","name":"` + wire.ToolName(p.ToolName, maxName) +
				`","input":` + string(wire.Object(p.Args)) + `}}`)})
		case event.ThinkingPart:
			if enc.own {
				blocks = append(blocks, thought(p)...)
			}
		}
	}
	return blocks
}

// thought gives a thought back as it came. One without a mark would be refused.
func thought(p *event.Part) []block {
	if p.Signature != "" {
		return []block{{kindThought, text(`{"reasoningContent":{"reasoningText":{"text":` + string(wire.Quote(p.Thinking)) +
			`,"signature":` + string(wire.Quote(p.Signature)) + `}}}`)}}
	}
	var hidden redacted
	if len(p.ProviderData) > 0 && wire.Decode(p.ProviderData, &hidden) == nil && len(hidden.Content) > 0 {
		return []block{{kindThought, text(`{"reasoningContent":` + string(hidden.encode()) + `}`)}}
	}
	return nil
}

// redacted is a thought that only the provider can read.
type redacted struct {
	Content []byte `json:"redactedContent"`
}

func (r redacted) encode() rawjson.Value { return wire.Marshal(r, nil) }

func (enc *encoder) user(m *event.Message) (blocks []block) {
	var beside []block
	for i := range m.Contents {
		switch p := &m.Contents[i]; p.Type {
		case event.TextPart:
			blocks = appendText(blocks, p.Text)
		case event.ToolResultPart:
			b, more := enc.result(p)
			blocks, beside = append(blocks, b), append(beside, more...)
		default:
			blocks = append(blocks, enc.medium(p, false))
		}
	}
	return withWords(append(blocks, beside...))
}

// withWords adds words to a document that has none beside it, which the API demands. They
// stand before it: a model reads them first.
func withWords(blocks []block) []block {
	documents := false
	for _, b := range blocks {
		if b.kind == kindText {
			return blocks
		}
		documents = documents || b.kind == kindDocument
	}
	if !documents {
		return blocks
	}
	if blocks[0].kind == kindResult { // results come first in a message
		return appendText(blocks, "The documents above were returned by tools.")
	}
	return append(appendText(nil, "Here is a document."), blocks...)
}

// result is what a tool returned. What the model does not take in a result stands beside
// it. A failed result may hold nothing but text, else it says in words that it failed;
// and each must hold something.
func (enc *encoder) result(p *event.Part) (result block, beside []block) {
	status := p.IsError && enc.rich
	media := map[int]block{}
	for i := range p.Contents {
		if c := &p.Contents[i]; c.Type != event.TextPart && c.Type != event.ToolResultPart {
			media[i] = enc.medium(c, true)
			status = status && media[i].kind == kindText
		}
	}
	var list []block
	unsaid := p.IsError && !status
	for i := range p.Contents {
		switch b, ok := media[i]; {
		case ok && b.kind != kindText && !enc.rich:
			beside = append(beside, b)
		case ok:
			list = append(list, b)
		case unsaid && strings.TrimSpace(p.Contents[i].Text) != "":
			list, unsaid = appendText(list, wire.AsError(p.Contents[i].Text)), false
		default:
			list = appendText(list, p.Contents[i].Text)
		}
	}
	switch {
	case unsaid || p.IsError && len(list) == 0:
		list = append(appendText(nil, "Error"), list...)
	case len(list) == 0 && len(beside) > 0:
		list = appendText(nil, "What the tool returned follows.")
	case len(list) == 0:
		list = appendText(nil, "The tool returned nothing.")
	}
	end := `]}}`
	if status {
		end = `],"status":"error"}}`
	}
	pieces := text(`{"toolResult":{"toolUseId":"` + callID(p.ToolCallID) + `","content":[`)
	for i, b := range list {
		if i > 0 {
			pieces = glue(pieces, text(`,`))
		}
		pieces = glue(pieces, b.pieces)
	}
	return block{kindResult, glue(pieces, text(end))}, beside
}
