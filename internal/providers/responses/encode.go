package responses

import (
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// encoded is a message as the API takes it: its items, joined by commas.
type encoded struct {
	items []byte
	media int // bytes of its media, in base64
}

// An item is one element of a conversation, as far as we write them ourselves.
type item struct {
	Type      string  `json:"type"`
	ID        string  `json:"id,omitzero"`
	Role      string  `json:"role,omitzero"`
	Status    string  `json:"status,omitzero"`
	Phase     string  `json:"phase,omitzero"`
	CallID    string  `json:"call_id,omitzero"`
	Name      string  `json:"name,omitzero"`
	Arguments *string `json:"arguments,omitzero"`
	Content   any     `json:"content,omitzero"` // a text, or a list of content
	Output    any     `json:"output,omitzero"`  // the same
}

// content is one element of a message, or of what a tool returned.
type content struct {
	Type        string  `json:"type"`
	Text        *string `json:"text,omitzero"` // may be empty, but not absent
	Annotations *[]int  `json:"annotations,omitzero"`
	Refusal     string  `json:"refusal,omitzero"`
	ImageURL    string  `json:"image_url,omitzero"`
	Filename    string  `json:"filename,omitzero"`
	FileData    string  `json:"file_data,omitzero"`
	FileURL     string  `json:"file_url,omitzero"`
}

const (
	typeMessage   = "message"
	typeCall      = "function_call"
	typeResult    = "function_call_output"
	typeReasoning = "reasoning"

	typeInputText  = "input_text"
	typeInputImage = "input_image"
	typeInputFile  = "input_file"
	typeOutputText = "output_text"
	typeRefusal    = "refusal"

	roleAssistant = "assistant"
)

type writer struct {
	own   bool // the message is by the very model that is asked
	known model.Known
	slim  bool // without media

	items  []byte
	weight int // of the media in them
}

// encodeAs writes a message, with its media or without, as the model's own or another's.
func (m *Model) encodeAs(msg *event.Message, slim, own bool) *encoded {
	w := &writer{own: own, known: m.cfg.Known, slim: slim}
	switch msg.Type {
	case event.InstructionMessage:
		role := "system"
		if m.thinks.can && (m.thinks.own || !m.elsewhere) { // templates of other models drop a developer's words
			role = "developer"
		}
		if text := wire.JoinLines(msg.Contents); text != "" {
			w.write(item{Type: typeMessage, Role: role, Content: text})
		}
	case event.ExpertMessage:
		w.answer(msg.Contents)
	case event.ToolMessage:
		for i := range msg.Contents {
			if p := &msg.Contents[i]; p.Type == event.ToolResultPart {
				w.result(p)
			}
		}
	default:
		if list := w.contents(msg.Contents, true); len(list) > 0 {
			w.write(item{Type: typeMessage, Role: "user", Content: list})
		}
	}
	return &encoded{w.items, w.weight}
}

func (w *writer) write(v any) {
	data := wire.Marshal(v, func(line string) any { return item{Type: typeMessage, Role: "user", Content: line} })
	if w.items == nil {
		w.items = data // most have one item, and it may be large: no copy
		return
	}
	w.items = append(append(w.items, ','), data...)
}

// callID is the id of a call as the API takes it: that of another provider may be longer,
// or have other characters. As with a name, two never become one.
func callID(id string) string { return wire.ToolName(id, maxName) }

// result writes what a tool returned: a text as it is, anything else as a list. The API
// has no mark for what failed, so the words say it.
func (w *writer) result(p *event.Part) {
	out := item{Type: typeResult, CallID: callID(p.ToolCallID)}
	list := w.contents(p.Contents, false)
	if p.IsError {
		list = asError(list)
	}
	switch {
	case len(list) == 0:
		out.Output = ""
	case len(list) == 1 && list[0].Type == typeInputText:
		out.Output = *list[0].Text
	default:
		out.Output = list
	}
	w.write(out)
}

// asError makes the first words say that something failed, unless they do.
func asError(list []content) []content {
	at := slices.IndexFunc(list, func(c content) bool { return c.Type == typeInputText })
	if at < 0 {
		text := wire.AsError("")
		return append([]content{{Type: typeInputText, Text: &text}}, list...)
	}
	text := wire.AsError(*list[at].Text)
	list[at].Text = &text
	return list
}
