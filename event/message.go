package event

import (
	"strings"

	"github.com/perstack-go/perstack/rawjson"
)

// MessageType is the role of a message.
type MessageType string

// The message types, with the role a provider gives each.
const (
	InstructionMessage MessageType = "instructionMessage" // system
	UserMessage        MessageType = "userMessage"        // user
	ExpertMessage      MessageType = "expertMessage"      // assistant
	ToolMessage        MessageType = "toolMessage"        // tool
)

// A Message is one entry of a conversation. Messages are shared between states,
// checkpoints and encoders: once made, a message is never changed.
type Message struct {
	ID       string                   `json:"id"`
	Type     MessageType              `json:"type"`
	Contents []Part                   `json:"contents"`
	Cache    bool                     `json:"cache,omitzero"`  // a prompt-cache breakpoint follows this message
	Author   string                   `json:"author,omitzero"` // the model that wrote it; marks of one are not sent to another
	Unknown  map[string]rawjson.Value `json:",embed"`
}

// Text returns the text of the message: all text parts of an Expert's, since a model can
// write one sentence in several; the first one of others.
func (m *Message) Text() string {
	switch {
	case m == nil:
		return ""
	case m.Type == ExpertMessage:
		return JoinText(m.Contents)
	}
	return FirstText(m.Contents)
}

// JoinText returns the text parts among parts as one text.
func JoinText(parts []Part) string {
	var all strings.Builder
	for i := range parts {
		if parts[i].Type == TextPart {
			all.WriteString(parts[i].Text)
		}
	}
	return all.String()
}

// FirstText returns the text of the first text part among parts, or "".
func FirstText(parts []Part) string {
	for i := range parts {
		if parts[i].Type == TextPart {
			return parts[i].Text
		}
	}
	return ""
}

// Thinking returns the message's reasoning, its thinking parts joined by a blank line.
func (m *Message) Thinking() string {
	if m == nil {
		return ""
	}
	var all []string
	for i := range m.Contents {
		if m.Contents[i].Type == ThinkingPart && m.Contents[i].Thinking != "" {
			all = append(all, m.Contents[i].Thinking)
		}
	}
	return strings.Join(all, "\n\n")
}
