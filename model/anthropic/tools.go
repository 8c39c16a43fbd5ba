package anthropic

import (
	"bytes"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/model"
)

// maxLists is how many lists of tools are kept: about one for each Expert of a job.
const maxLists = 32

// lists keeps what lists of tools look like on the wire. All Runs of an Expert offer the
// same, and a thousand of them may ask at once: their requests share one text. The zero
// value is ready.
type lists struct {
	mu   sync.Mutex
	kept []list // the newest last
}

type list struct {
	tools []model.Tool
	text  []byte
}

// get returns the text of a list, which write makes when it is not known.
func (l *lists) get(tools []model.Tool, write func([]model.Tool) []byte) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, known := range l.kept {
		if slices.EqualFunc(known.tools, tools, isSame) {
			return known.text
		}
	}
	if len(l.kept) == maxLists {
		l.kept = slices.Delete(l.kept, 0, 1)
	}
	text := write(tools)
	l.kept = append(l.kept, list{slices.Clone(tools), text})
	return text
}

func isSame(a, b model.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.InputSchema, b.InputSchema)
}

// tools is the part of a request that is about tools. A request without tools is one for
// text alone: it gets none of the provider's either.
func (m *Model) tools(req *model.Request) []byte {
	if len(req.Tools) == 0 {
		return nil
	}
	return m.lists.get(req.Tools, m.writeTools)
}

func (m *Model) writeTools(tools []model.Tool) []byte {
	text := []byte(`,"tools":[`)
	for _, t := range tools {
		if m.hosted.has(t.Name) {
			continue // two of one name are refused; the provider's was asked for by name
		}
		text = appendTool(text, t)
	}
	for _, t := range m.hosted.tools {
		text = append(append(text, marshal(t)...), ',')
	}
	text = append(bytes.TrimSuffix(text, []byte(",")), `],"tool_choice":{"type":"auto"}`...)
	if m.hosted.container != nil {
		text = append(append(text, `,"container":`...), m.hosted.container...)
	}
	return text
}

// appendTool writes a tool, and a comma behind it.
func appendTool(text []byte, t model.Tool) []byte {
	text = append(text, `{"name":`...)
	text = append(text, quote(t.Name)...)
	if t.Description != "" {
		text = append(text, `,"description":`...)
		text = append(text, quote(t.Description)...)
	}
	schema := t.InputSchema
	if len(schema) == 0 {
		schema = jsontext.Value(`{"type":"object"}`)
	}
	text = append(text, `,"input_schema":`...)
	text = append(text, schema...)
	return append(text, '}', ',')
}
