package modeltest

import (
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// Always is a conversation that is the same on every wire.
func Always(k Talk) func(Traits) Talk { return func(Traits) Talk { return k } }

// Once asks one thing; turn is the answer's table.
func Once(turn string, want Reading) Talk {
	return Talk{Script: "[[turn]]\n" + turn, Said: []Say{User(Text("Hello"))}, Want: []Reading{want}}
}

// needs leaves a case out where a trait is missing.
func needs(has func(Traits) bool, why string) func(Traits) string {
	return func(w Traits) string {
		if has(w) {
			return ""
		}
		return why
	}
}

// Text is a part of words.
func Text(s string) event.Part { return event.Part{Type: event.TextPart, Text: s} }

func message(kind event.MessageType, parts ...event.Part) *event.Message {
	return &event.Message{Type: kind, Contents: parts}
}

// User says something.
func User(parts ...event.Part) Say {
	return func([]event.Part) []*event.Message { return []*event.Message{message(event.UserMessage, parts...)} }
}

// Instructed says something after an instruction.
func Instructed(instruction string, parts ...event.Part) Say {
	return func([]event.Part) []*event.Message {
		first := message(event.InstructionMessage, Text(instruction))
		first.Cache = true
		return []*event.Message{first, message(event.UserMessage, parts...)}
	}
}

// Results answers the calls of the answer before, in their order.
func Results(all ...event.Part) Say {
	return func(calls []event.Part) []*event.Message {
		answered := append([]event.Part{}, all...)
		for i := range answered {
			answered[i].ToolCallID, answered[i].ToolName = calls[i].ToolCallID, calls[i].ToolName
		}
		return []*event.Message{message(event.ToolMessage, answered...)}
	}
}

// Result is what a tool returned.
func Result(parts ...event.Part) event.Part {
	return event.Part{Type: event.ToolResultPart, Contents: parts}
}

// Failed is the result of a tool that failed.
func Failed(parts ...event.Part) event.Part {
	return event.Part{Type: event.ToolResultPart, Contents: parts, IsError: true}
}

// history puts messages before what a conversation begins with.
func history(old []*event.Message, then Say) Say {
	return func(calls []event.Part) []*event.Message {
		return append(append([]*event.Message{}, old...), then(calls)...)
	}
}

func image(kind, data string) event.Part {
	return event.Part{Type: event.ImageInlinePart, MIMEType: kind, EncodedData: data}
}

func file(kind, data string) event.Part {
	return event.Part{Type: event.FileInlinePart, MIMEType: kind, EncodedData: data}
}

// Small files that are whole, in base64.
const (
	png  = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	pdf  = "JVBERi0xLjEKMSAwIG9iajw8Pj5lbmRvYmoKdHJhaWxlcjw8Pj4KJSVFT0YK"
	note = "VGhyZWUgb3BlbiBwb2ludHMu" // Three open points.
)

// reader and thinker are the tools of most conversations. The schema has what schemas of
// real tools have.
var (
	reader = model.Tool{
		Name: "read", Description: "Reads a \"file\" <or> more.",
		InputSchema: rawjson.Value(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
			`"properties":{"path":{"type":"string","enum":["a","b"]},"at":{"type":"integer","minimum":0,"maximum":9007199254740993,"default":1},` +
			`"deep":{"type":"object","properties":{"x":{"anyOf":[{"type":"string"},{"type":"null"}]}},"additionalProperties":false}},` +
			`"required":["path"],"additionalProperties":false}`),
	}
	thinker = model.Tool{Name: "think", Description: "Thinks.", InputSchema: rawjson.Value(`{"type":"object","properties":{}}`)}
	tools   = []model.Tool{reader, thinker}
)

// cut takes the first occurrence of a text out.
func cut(s, part string) string { return strings.Replace(s, part, "", 1) }

// Tools are those of most conversations.
func Tools() []model.Tool { return slices.Clone(tools) }
