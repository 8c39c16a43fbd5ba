package ollama

import (
	"bytes"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// maxName bounds the name of a tool. The server has no limit, but models write names, and
// get long and odd ones wrong.
const maxName = 64

// writeTools is the part of a request that is about tools.
func writeTools(tools []model.Tool) []byte {
	text := []byte(`,"tools":[`)
	for _, t := range tools {
		text = wire.AppendTool(append(text, `{"type":"function","function":{`...), t, maxName)
		text = append(append(text, `,"parameters":`...), parameters(t.InputSchema)...)
		text = append(text, `}},`...)
	}
	return append(bytes.TrimSuffix(text, []byte(",")), ']')
}

// parameters is a schema as the server reads it. It has types of its own for schemas, and
// refuses the whole request for one that does not fit: tools come from anywhere, and one
// odd property must not cost all of them.
func parameters(schema rawjson.Value) rawjson.Value {
	members, ok := split(schema)
	if !ok {
		return rawjson.Value(`{"type":"object","properties":{}}`)
	}
	members, changed := fitMembers(members, 0)
	changed = must(&members, "type", func(v rawjson.Value) bool { return v.Kind() == '"' }, `"object"`) || changed
	changed = must(&members, "properties", func(v rawjson.Value) bool { return v.Kind() == '{' }, `{}`) || changed
	if !changed {
		return schema
	}
	return join(members)
}

// must sees to it that there is a member of the right kind.
func must(members *[]member, name string, right func(rawjson.Value) bool, otherwise string) (changed bool) {
	for i := range *members {
		if m := &(*members)[i]; m.name == name {
			if right(m.value) {
				return false
			}
			m.value = rawjson.Value(otherwise)
			return true
		}
	}
	*members = append(*members, member{name, rawjson.Value(otherwise)})
	return true
}
