package chat

import (
	"bytes"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// addTools writes the part of a request that is about tools. A request for text alone
// lists them too: the history speaks of them, and what the service has in its cache begins
// with them.
func (m *Model) addTools(b *wire.Body, req *model.Request) {
	if len(req.Tools) == 0 {
		return
	}
	b.Add(m.lists.Get(req.Tools, m.writeTools))
	if req.TextOnly {
		b.Text(`,"tool_choice":"none"`)
	} else {
		b.Text(`,"tool_choice":"auto"`)
	}
}

func (m *Model) writeTools(tools []model.Tool) []byte {
	text := []byte(`,"tools":[`)
	for _, t := range tools {
		text = append(text, `{"type":"function","function":{"name":`...)
		text = append(text, wire.Quote(wire.ToolName(t.Name, maxName))...)
		if t.Description != "" {
			text = append(append(text, `,"description":`...), wire.Quote(m.shorten(t.Description))...)
		}
		text = append(append(text, `,"parameters":`...), wire.Schema(t.InputSchema)...)
		if m.cfg.Dialect == Azure {
			text = append(text, `,"strict":false`...)
		}
		text = append(text, `}},`...)
	}
	return append(bytes.TrimSuffix(text, []byte(",")), ']')
}

// maxDescription is how long Azure lets the description of a tool be, in characters. It
// refuses the whole request for a longer one.
const maxDescription = 1024

func (m *Model) shorten(description string) string {
	if m.cfg.Dialect != Azure || len(description) <= maxDescription {
		return description
	}
	runes := []rune(description)
	if len(runes) <= maxDescription {
		return description
	}
	return string(runes[:maxDescription-2]) + " …"
}
