package chat

import (
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
	roleSystem    = "system"
	roleDeveloper = "developer"
)

// encoded is a message as the API takes it.
type encoded struct {
	role string

	// text is the whole message, or one for each result of a tool, with commas between
	// them. If it is words alone, of a user of DeepSeek, it is the inside of a string, so
	// that two can be one.
	text  []byte
	words bool

	after  []byte // a message of the user with the media of tools; empty if there are none
	media  int    // bytes of base64 in it
	calls  bool   // it calls tools
	thinks bool   // it has a thought
}

func (e *encoded) empty() bool { return len(e.text) == 0 }

type message struct {
	Role       string  `json:"role"`
	Content    any     `json:"content"` // a string, or a list of pieces
	Reasoning  *string `json:"reasoning_content,omitzero"`
	ToolCalls  []call  `json:"tool_calls,omitzero"`
	ToolCallID string  `json:"tool_call_id,omitzero"`
}

type call struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON
}

// What the API takes, in characters. Ids of other providers are longer at times.
const (
	maxName = 64
	maxID   = 40
)

func (m *Model) encode(msg *event.Message, slim bool) *encoded {
	switch msg.Type {
	case event.InstructionMessage:
		return m.encodeInstruction(msg)
	case event.ExpertMessage:
		return m.encodeAnswer(msg)
	case event.ToolMessage:
		return m.encodeResults(msg, slim)
	}
	return m.encodeUser(msg, slim)
}

func (m *Model) encodeInstruction(msg *event.Message) *encoded {
	e := &encoded{role: roleSystem}
	if m.cfg.Dialect.openAI && model.OpenAIThinks(m.cfg.Model) {
		e.role = roleDeveloper
	}
	if text := wire.JoinLines(msg.Contents); strings.TrimSpace(text) != "" {
		e.text = marshal(message{Role: e.role, Content: text})
	}
	return e
}

func (m *Model) encodeUser(msg *event.Message, slim bool) *encoded {
	e := &encoded{role: roleUser}
	c := content{m: m, slim: slim}
	for i := range msg.Contents {
		c.add(&msg.Contents[i], false)
	}
	e.media = c.weight
	switch {
	case len(c.pieces) == 0:
	case m.cfg.Dialect.mergeUsers && !c.shows():
		quoted := wire.Quote(c.words())
		e.text, e.words = quoted[1:len(quoted)-1], true
	default:
		e.text = marshal(message{Role: roleUser, Content: c.value()})
	}
	return e
}

// encodeAnswer writes what an Expert said. Its thoughts go back to the model that had
// them, where the API has a place for them.
func (m *Model) encodeAnswer(msg *event.Message) *encoded {
	e := &encoded{role: roleAssistant}
	own := m.cfg.Dialect.thoughts && msg.Author == m.cfg.Author
	var thoughts, words strings.Builder
	out := message{Role: roleAssistant}
	for i := range msg.Contents {
		switch p := &msg.Contents[i]; {
		case p.Type == event.TextPart:
			words.WriteString(p.Text)
		case p.Type == event.ThinkingPart && own:
			thoughts.WriteString(p.Thinking)
		case p.Type == event.ToolCallPart:
			out.ToolCalls = append(out.ToolCalls, call{
				ID: callID(p.ToolCallID), Type: "function",
				Function: function{Name: wire.ToolName(p.ToolName, maxName), Arguments: string(wire.Object(p.Args))},
			})
		}
	}
	e.calls = len(out.ToolCalls) > 0
	if e.calls && thoughts.Len() == 0 && (own || m.alwaysThinks()) {
		thoughts.WriteString(noThought)
	}
	e.thinks = thoughts.Len() > 0
	if words.Len() == 0 && !e.calls {
		return e
	}
	out.Content = words.String()
	if e.thinks {
		text := thoughts.String()
		out.Reasoning = &text
	}
	e.text = marshal(out)
	return e
}

// noThought stands where a model of DeepSeek called a tool without a thought: while it
// thinks, it refuses calls whose thoughts it does not see, and some refuse an empty one.
const noThought = " "

// encodeResults writes what tools returned: one message for each, of text, and one for
// the media of all.
func (m *Model) encodeResults(msg *event.Message, slim bool) *encoded {
	e := &encoded{role: roleTool}
	media := content{m: m, slim: slim}
	for i := range msg.Contents {
		p := &msg.Contents[i]
		if p.Type != event.ToolResultPart {
			continue
		}
		if len(e.text) > 0 {
			e.text = append(e.text, ',')
		}
		id := callID(p.ToolCallID)
		e.text = append(e.text, marshal(message{Role: roleTool, ToolCallID: id, Content: resultText(p, &media, id)})...)
	}
	if e.media = media.weight; len(media.pieces) > 0 {
		e.after = marshal(message{Role: roleUser, Content: media.pieces})
	}
	return e
}

// resultText is the text of a result. Images and files that the model can look at are
// added to media, with a line before them that says whose they are.
func resultText(p *event.Part, media *content, id string) string {
	text := content{m: media.m, slim: media.slim}
	named := false
	for i := range p.Contents {
		before := len(text.pieces)
		text.add(&p.Contents[i], true)
		if len(text.pieces) == before || text.pieces[before].Type == typeText {
			continue
		}
		if !named {
			media.addText("What the tool call " + id + " returned:")
			named = true
		}
		found := text.pieces[before]
		if found.File != nil { // its number counts among the media of all results
			found.File.Name = "part-" + strconv.Itoa(media.at) + ".pdf"
			media.at++
		}
		media.take(found, text.weight)
		text.weight = 0
		text.pieces[before] = textPiece("[a part of type " + string(wire.Quote(text.kind)) + " follows in a later message]")
	}
	if p.IsError {
		return wire.AsError(text.words())
	}
	return text.words()
}

// callID is the id of a call as the API takes it. What another provider wrote, and is
// longer or has other characters, becomes one that is as unique.
func callID(id string) string { return wire.ToolName(id, maxID) }

func marshal(m message) []byte { return wire.Marshal(m, nil) } // it has no raw values
