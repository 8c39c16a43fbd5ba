package ollama_test

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/providers/ollama"
	"github.com/perstack-go/perstack/rawjson"
)

// What the server can read is sent as it is, in its order; what it would refuse, with all
// other tools, is made to fit.
func TestParameters(t *testing.T) {
	const same = "same"
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":["string","null"],"enum":[1,null],"x":true}},"additionalProperties":false}`: same,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/x"}],"items":true}},"$defs":{"x":5}}`:  same,
		`{"properties":{"a":{"description":"","required":[]}},"type":"object"}`:                                                 same,
		``:                  `{"type":"object","properties":{}}`,
		`true`:              `{"type":"object","properties":{}}`,
		`{"a":`:             `{"type":"object","properties":{}}`,
		`{}`:                `{"type":"object","properties":{}}`,
		`{"type":"object"}`: `{"type":"object","properties":{}}`,
		`{"type":["object","null"],"properties":null}`:                                           `{"type":"object","properties":{}}`,
		`{"type":"object","properties":[]}`:                                                      `{"type":"object","properties":{}}`,
		`{"type":"object","properties":{"a":true,"b":{"type":5},"c":{"type":"string"}}}`:         `{"type":"object","properties":{"a":{},"b":{},"c":{"type":"string"}}}`,
		`{"type":"object","properties":{"a":{"anyOf":[true,{"description":{}}],"z":1}}}`:         `{"type":"object","properties":{"a":{"anyOf":[{},{}],"z":1}}}`,
		`{"type":"object","properties":{"a":{"anyOf":{},"enum":"x","required":[1]}}}`:            `{"type":"object","properties":{"a":{}}}`,
		`{"type":"object","properties":{"a":{"properties":{"b":{"properties":{"c":false}}}}}}`:   `{"type":"object","properties":{"a":{"properties":{"b":{"properties":{"c":{}}}}}}}`,
		`{"type":"object","required":true,"properties":{"\"<é>\"":{"type":"string","x":false}}}`: `{"type":"object","properties":{"\"<é>\"":{"type":"string","x":false}}}`,
	} {
		if want == same {
			want = schema
		}
		if got := ollama.Parameters(schema); got != want {
			t.Errorf("%s\nbecame %s\nwant   %s", schema, got, want)
		}
	}
}

func TestDeepSchema(t *testing.T) {
	schema := strings.Repeat(`{"type":"object","properties":{"a":`, 5000) + `{}` + strings.Repeat(`}}`, 5000)
	got := ollama.Parameters(schema)
	if !rawjson.Value(got).IsValid() || len(got) > 5000 {
		t.Errorf("%d bytes: %.300s", len(got), got)
	}
}
