package ollama

import (
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// encoded is a message as the API takes it.
type encoded struct {
	talk   []byte // objects, joined by commas: each result of a tool is one of its own
	behind []byte // the media that tools returned; nil if there are none
	media  int    // what the media weigh, in bytes
}

// A message is one object of the conversation.
type message struct {
	Role       string   `json:"role"`
	Content    string   `json:"content"`
	Thinking   string   `json:"thinking,omitzero"`
	Images     []string `json:"images,omitempty"` // base64
	ToolCalls  []call   `json:"tool_calls,omitempty"`
	ToolName   string   `json:"tool_name,omitzero"`
	ToolCallID string   `json:"tool_call_id,omitzero"`
}

// A call is a call of a tool.
type call struct {
	ID       string   `json:"id,omitzero"`
	Function function `json:"function"`
}

type function struct {
	Index     int           `json:"index"`
	Name      string        `json:"name"`
	Arguments rawjson.Value `json:"arguments"` // an object
}

const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool"
)

// encode writes a message, with its media or with a line in the place of each.
func (m *Model) encode(msg *event.Message, slim bool) *encoded {
	w := writer{known: &m.config.Known, slim: slim}
	switch msg.Type {
	case event.InstructionMessage:
		w.add(message{Role: roleSystem, Content: wire.JoinLines(msg.Contents)})
	case event.ExpertMessage:
		w.add(assistant(msg, msg.Author == m.config.Author))
	case event.ToolMessage:
		w.results(msg.Contents)
	default:
		w.user(msg.Contents)
	}
	return &w.encoded
}

type writer struct {
	encoded
	known *model.Known // if nothing is, the server says that the model cannot look at images
	slim  bool
}

func (w *writer) add(m message) {
	if m.Content == "" && m.Thinking == "" && len(m.Images)+len(m.ToolCalls) == 0 && m.Role != roleTool {
		return // nothing is left to say
	}
	if len(w.talk) > 0 {
		w.talk = append(w.talk, ',')
	}
	w.talk = append(w.talk, marshal(m)...)
}

func marshal(m message) []byte {
	return wire.Marshal(m, func(line string) any { return message{Role: m.Role, Content: line} })
}

// assistant is what the model said before. The API has one thought, one text and a list
// of calls, in no order. What was thought elsewhere means nothing here.
func assistant(msg *event.Message, own bool) message {
	m := message{Role: roleAssistant, Content: event.JoinText(msg.Contents)}
	if own {
		m.Thinking = msg.Thinking()
	}
	for i := range msg.Contents {
		p := &msg.Contents[i]
		if p.Type == event.ToolCallPart {
			m.ToolCalls = append(m.ToolCalls, call{p.ToolCallID, function{len(m.ToolCalls), wire.ToolName(p.ToolName, maxName), wire.Object(p.Args)}})
		}
	}
	return m
}

func (w *writer) user(parts []event.Part) {
	text, images := w.content(parts, false)
	w.add(message{Role: roleUser, Content: text, Images: images})
}

// results writes each result as a message, and their images as one of the user: templates
// of models look for images nowhere else.
func (w *writer) results(parts []event.Part) {
	var images []string
	for i := range parts {
		p := &parts[i]
		if p.Type != event.ToolResultPart {
			continue
		}
		text, found := w.content(p.Contents, true)
		if p.IsError { // the API has no other place for it
			text = wire.AsError(text)
		}
		images = append(images, found...)
		m := message{Role: roleTool, Content: text, ToolCallID: p.ToolCallID}
		if p.ToolName != "" {
			m.ToolName = wire.ToolName(p.ToolName, maxName)
		}
		w.add(m)
	}
	if len(images) > 0 {
		w.behind = marshal(message{Role: roleUser, Content: "[the images that tools returned above, in their order]", Images: images})
	}
}

// content is what a message or a result holds: words, and images beside them.
func (w *writer) content(parts []event.Part, ofTool bool) (text string, images []string) {
	var lines []string
	for i := range parts {
		p := &parts[i]
		line, image := "", ""
		switch {
		case p.Type == event.TextPart:
			line = p.Text
		case wire.IsMedia(p):
			line, image = w.medium(p, ofTool)
		}
		if line != "" {
			lines = append(lines, line)
		}
		if image != "" {
			images = append(images, image)
		}
	}
	return strings.Join(lines, "\n"), images
}

// medium returns an image, or the words of a file, or why neither is there.
func (w *writer) medium(p *event.Part, ofTool bool) (line, image string) {
	m, why := rules.Read(p, w.known, ofTool)
	if why == "" && w.slim && m.Text == "" {
		why = wire.SentBefore
	}
	switch {
	case why != "":
		return wire.LeftOut(m.Type, why), ""
	case m.Text != "":
		return m.Text, ""
	case ofTool:
		line = "[an image, which follows in a message of the user]"
	}
	w.media += len(m.Data)
	return line, m.Data
}

var rules = wire.MediaRules{Types: wire.TypesImages, Named: "png, jpeg, gif, webp and text", MaxMedia: maxMedia}

// CheckMedia implements [model.MediaChecker].
func (m *Model) CheckMedia(_ string, parts []event.Part) error {
	return rules.Check(parts, &m.config.Known)
}
