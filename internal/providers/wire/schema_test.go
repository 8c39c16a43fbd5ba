package wire_test

import (
	"testing"

	"github.com/perstack-go/perstack/internal/providers/wire"
)

func TestSchema(t *testing.T) {
	for given, want := range map[string]string{
		"":            `{"type":"object","properties":{}}`,
		`true`:        `{"type":"object","properties":{}}`,
		`{"a"`:        `{"type":"object","properties":{}}`,
		`{ }`:         `{"properties":{},"type":"object"}`,
		`{"$id":"x"}`: `{"$id":"x","properties":{},"type":"object"}`,
		`{"type":["object","null"],"properties":{}}`: `{"properties":{},"type":"object"}`,
		// What is right stays as it is written.
		`{"type": "object", "properties": {"b": {"type":"array","items":{}}, "a": {"enum":[1]}}}`: `{"type": "object", "properties": {"b": {"type":"array","items":{}}, "a": {"enum":[1]}}}`,
		// Alternatives at the top.
		`{"anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{}}}],"enum":[1],"not":{}}`: `{"properties":{"a":{"type":"string"},"b":{}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"allOf":[{"properties":{"a":{"type":"null"}}},7]}`:         `{"properties":{"a":{"type":"string"}},"type":"object"}`,
		// Lists of nobody knows what, at any depth; a value that looks like a schema is none.
		`{"type":"object","properties":{"a":{"type":"array"},"b":{"default":{"type":"array"}}}}`:     `{"properties":{"a":{"items":{},"type":"array"},"b":{"default":{"type":"array"}}},"type":"object"}`,
		`{"type":"object","properties":{},"$defs":{"x":{"anyOf":[{"type":["array","null"]},true]}}}`: `{"$defs":{"x":{"anyOf":[{"items":{},"type":["array","null"]},true]}},"properties":{},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"array"}}}}`:             `{"properties":{"a":{"items":{"items":{},"type":"array"},"type":"array"}},"type":"object"}`,
	} {
		if got := string(wire.Schema([]byte(given))); got != want {
			t.Errorf("%s became\n%s, want\n%s", given, got, want)
		}
	}
}
