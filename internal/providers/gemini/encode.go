package gemini

import (
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/rawjson"
)

const (
	roleUser  = "user"
	roleModel = "model"
)

type encoded struct {
	role  string
	parts []*part
	media int // how many bytes of it are media
}

// A part is one element of a message's parts. A result lacks its head, the id and the name:
// they are the call's, and [Model.body] puts the two together.
type part struct {
	json     []byte
	call     string   // of calls and results: which call
	id, name string   // of calls: how results name it; id if the API gave one
	result   bool     // json is the rest of a functionResponse
	attached [][]byte // of results: parts that follow all results of the turn
}

func (p *part) isCall() bool { return p.name != "" }

// An apiPart is a text, a thought or a call as the API has it, in requests and in answers.
type apiPart struct {
	Text      *string       `json:"text,omitzero"` // may be empty beside a signature, but not absent
	Thought   bool          `json:"thought,omitzero"`
	Call      *functionCall `json:"functionCall,omitzero"`
	Signature string        `json:"thoughtSignature,omitzero"`
}

type functionCall struct {
	ID   string        `json:"id,omitzero"`
	Name string        `json:"name"`
	Args rawjson.Value `json:"args"`
}

// A mark is what the API wants back with a part of its answer. It means nothing to others.
type mark struct {
	Signature string `json:"thoughtSignature,omitzero"`
	ID        string `json:"id,omitzero"`
}

// foreign stands for the signature of a call that another model wrote, or that was written
// without one: from Gemini 3 on the API refuses such a call otherwise, and documents this
// word for it.
const foreign = "skip_thought_signature_validator"

// encode writes a message. Marks and thoughts of others than the model asked are left out.
func (m *Model) encode(msg *event.Message, slim bool) *encoded {
	e := &encoded{role: roleUser}
	switch msg.Type {
	case event.InstructionMessage:
		text := wire.JoinLines(msg.Contents)
		if m.traits.noSystem { // it stands before what the user says
			text += "\n\n"
		}
		e.text(text, "")
	case event.ExpertMessage:
		e.role = roleModel
		m.encodeAnswer(e, msg)
	default:
		for i := range msg.Contents {
			switch p := &msg.Contents[i]; p.Type {
			case event.TextPart:
				e.text(p.Text, "")
			case event.ToolResultPart:
				m.encodeResult(e, p, slim)
			default:
				e.add(m.medium(e, p, slim))
			}
		}
	}
	return e
}

func (e *encoded) add(json []byte) { e.parts = append(e.parts, &part{json: json}) }

// text adds a text. An empty one is sent for the sake of its signature alone.
func (e *encoded) text(text, signature string) {
	if strings.TrimSpace(text) == "" && signature == "" {
		return
	}
	e.add(encode(apiPart{Text: &text, Signature: signature}))
}

func encode(v any) []byte {
	return wire.Marshal(v, func(line string) any { return apiPart{Text: &line} })
}

func textPart(text string) []byte {
	return []byte(`{"text":` + string(wire.Quote(text)) + `}`)
}

// encodeAnswer writes what a model said. A signature goes back on exactly the part on which
// it came.
func (m *Model) encodeAnswer(e *encoded, msg *event.Message) {
	called := false
	for i := range msg.Contents {
		p := &msg.Contents[i]
		var mark mark
		if msg.Author == m.Author && len(p.ProviderData) > 0 && p.Type != event.ProviderPart {
			_ = wire.Decode(p.ProviderData, &mark) // what cannot be read is no mark
		}
		switch p.Type {
		case event.TextPart:
			e.text(p.Text, mark.Signature)
		case event.ThinkingPart:
			if mark.Signature != "" { // without it a thought says nothing to the API
				e.add(encode(apiPart{Text: &p.Thinking, Thought: true, Signature: mark.Signature}))
			}
		case event.ToolCallPart:
			if m.traits.third && !called && mark.Signature == "" {
				mark.Signature = foreign // of calls at once, the first has it
			}
			called = true
			name := wire.ToolName(p.ToolName, maxName)
			e.parts = append(e.parts, &part{call: p.ToolCallID, id: mark.ID, name: name, json: encode(apiPart{
				Call: &functionCall{mark.ID, name, wire.Object(p.Args)}, Signature: mark.Signature,
			})})
		case event.ProviderPart:
			if msg.Author == m.Author && isPart(p.ProviderData) {
				e.add(p.ProviderData)
			}
		}
	}
}

// isPart reports whether data is something that the provider ran, and takes back as a part.
// What it says about an answer, like its sources, is not.
func isPart(data rawjson.Value) bool {
	var p hostedPart
	return data.IsValid() && wire.Decode(data, &p) == nil && p.kind() != ""
}

// encodeResult writes what a tool returned: its texts, and its media. From Gemini 3 on
// media stand inside the result. Older models look at media beside results only; both then
// say which belongs to which.
func (m *Model) encodeResult(e *encoded, p *event.Part, slim bool) {
	r := &part{call: p.ToolCallID, result: true}
	var texts []string
	var inside []rawjson.Value
	for i := range p.Contents {
		c := &p.Contents[i]
		if c.Type == event.TextPart {
			texts = append(texts, c.Text)
			continue
		}
		switch found, leftOut := m.inline(e, c, true, slim); {
		case leftOut != "":
			texts = append(texts, leftOut)
		case m.traits.third && fitsInside(found):
			inside = append(inside, mediaPart(found))
		default:
			name := e.attachment(len(r.attached))
			texts = append(texts, "["+name+" is what this call returned]")
			r.attached = append(r.attached, textPart("["+name+"]"), mediaPart(found))
		}
	}
	key, text := "output", strings.Join(texts, "\n")
	if p.IsError {
		if key = "error"; text == "" {
			text = "Error"
		}
	}
	r.json = []byte(`"response":{"` + key + `":` + string(wire.Quote(text)) + `}`)
	if len(inside) > 0 {
		r.json = append(append(r.json, `,"parts":`...), encode(inside)...)
	}
	r.json = append(r.json, `}}`...)
	e.parts = append(e.parts, r)
}

// attachment is a name for the next medium beside the results of a message.
func (e *encoded) attachment(before int) string {
	for _, p := range e.parts {
		before += len(p.attached)
	}
	return "attachment " + strconv.Itoa(before/2+1) // each has a text before it
}
