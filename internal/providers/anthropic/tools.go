package anthropic

import (
	"bytes"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// maxName is the longest name of a tool, and the longest id of a call, that are sent.
const maxName = 128

// tools adds the part of a request that is about tools. For an answer in words they are
// listed as well, the provider's too: its cache begins with them, and the conversation
// speaks of them.
func (m *Model) tools(b *body, req *model.Request, talk []*encoded) {
	list := m.lists.Get(req.Tools, m.writeTools)
	if len(list) == 0 {
		return
	}
	b.Add(list)
	choice := "auto"
	if req.TextOnly {
		choice = "none"
	}
	b.Text(`,"tool_choice":{"type":"` + choice + `"}`)
	if container := m.container(talk); container != nil {
		b.Text(`,"container":`)
		b.Add(container)
	}
}

func (m *Model) writeTools(tools []model.Tool) []byte {
	var text []byte
	for _, t := range tools {
		if !m.hosted.has(t.Name) { // two of one name are refused; the provider's was asked for by name
			text = appendTool(text, t)
		}
	}
	for _, t := range m.hosted.tools {
		text = append(append(text, marshal(t)...), ',')
	}
	if len(text) == 0 {
		return nil
	}
	return append(append([]byte(`,"tools":[`), bytes.TrimSuffix(text, []byte(","))...), ']')
}

// appendTool writes a tool, and a comma behind it.
func appendTool(text []byte, t model.Tool) []byte {
	schema := t.InputSchema
	if len(schema) == 0 {
		schema = rawjson.Value(`{"type":"object"}`)
	}
	text = wire.AppendTool(append(text, '{'), t, maxName)
	return append(append(append(text, `,"input_schema":`...), schema...), '}', ',')
}
