package ollama

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/rawjson"
)

// maxName bounds the name of a tool. The server has no limit, but models write names, and
// get long and odd ones wrong.
const maxName = 64

var toolForm = wire.ToolForm{Open: `{"type":"function","function":{`, Schema: `,"parameters":`, Close: `}}`, Fit: parameters, MaxName: maxName}

// server is what the server reads of a schema. It has types of its own for schemas, and
// refuses the whole request for one that does not fit: tools come from anywhere, and one
// odd property must not cost all of them.
var server = wire.SchemaFitter{
	Inside:  map[string]jsontext.Kind{"anyOf": '[', "properties": '{'},
	Instead: rawjson.Value(`{}`),
	Fit: func(members *wire.Members) {
		*members = slices.DeleteFunc(*members, func(m wire.Member) bool { return !fits(m) })
	},
}

// fits looks at the members that the server has types for, and leaves all others alone.
func fits(m wire.Member) bool {
	kind := m.Value.Kind()
	isTexts := kind == '[' && !slices.ContainsFunc(m.Inside, func(one wire.Member) bool { return one.Value.Kind() != '"' })
	switch m.Name {
	case "type":
		return kind == '"' || isTexts
	case "description":
		return kind == '"'
	case "required":
		return isTexts
	case "enum", "anyOf":
		return kind == '['
	case "properties":
		return kind == '{'
	}
	return true
}

// parameters is a schema as the server reads it.
func parameters(schema rawjson.Value) rawjson.Value {
	members, kind := wire.Split(schema)
	if kind != '{' {
		return rawjson.Value(wire.NoArguments)
	}
	server.Object(&members)
	if members.Get("type").Kind() != '"' {
		members.Set("type", rawjson.Value(`"object"`))
	}
	if members.Get("properties").Kind() != '{' {
		members.Set("properties", rawjson.Value(`{}`))
	}
	return members.Join('{')
}
