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
		`{ }`:         `{"type":"object","properties":{}}`,
		`{"$id":"x"}`: `{"$id":"x","type":"object","properties":{}}`,
		`{"type":["object","null"],"properties":{}}`: `{"type":"object","properties":{}}`,
		// What is right stays, in its order.
		`{"type": "object", "properties": {"b": {"type":"array","items":{}}, "a": {"enum":[1.0]}}}`: `{"type":"object","properties":{"b":{"type":"array","items":{}},"a":{"enum":[1.0]}}}`,
		// Alternatives at the top.
		`{"anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{}}}],"enum":[1],"not":{}}`: `{"type":"object","properties":{"a":{"type":"string"},"b":{}}}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"allOf":[{"properties":{"a":{"type":"null"}}},7]}`:         `{"type":"object","properties":{"a":{"type":"string"}}}`,
		// Lists without a type of their items, at any depth; a value that looks like a schema is none.
		`{"type":"object","properties":{"a":{"type":"array"},"b":{"default":{"type":"array"}}}}`:     `{"type":"object","properties":{"a":{"type":"array","items":{}},"b":{"default":{"type":"array"}}}}`,
		`{"type":"object","properties":{},"$defs":{"x":{"anyOf":[{"type":["array","null"]},true]}}}`: `{"type":"object","properties":{},"$defs":{"x":{"anyOf":[{"type":["array","null"],"items":{}},true]}}}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"array"}}}}`:             `{"type":"object","properties":{"a":{"type":"array","items":{"type":"array","items":{}}}}}`,
	} {
		if got := string(wire.Schema([]byte(given))); got != want {
			t.Errorf("%s became\n%s, want\n%s", given, got, want)
		}
	}
}
