package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

// What is written is what the library would write, for schemas of Go types and for others.
func TestEncodeAsTheLibrary(t *testing.T) {
	half, two := 0.5, 2.0
	odd := "a \"quoted\" <b> & \u2028 \x00 é\n"
	name := func(s *jsonschema.Schema) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{odd: s}, PropertyOrder: []string{odd}, Required: []string{odd, "b"}}
	}
	trips, err := jsonschema.For[trip](nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*jsonschema.Schema{
		{}, {Not: &jsonschema.Schema{}}, {Type: "string", Not: &jsonschema.Schema{}}, trips, name(trips), name(&jsonschema.Schema{}),
		{Description: odd, ContentEncoding: odd}, {Minimum: &two, Maximum: &two}, {Minimum: &half}, {Types: []string{"null", "string"}},
		{Properties: map[string]*jsonschema.Schema{}}, {Properties: map[string]*jsonschema.Schema{"b": {}, "a": {}}},
		{Items: &jsonschema.Schema{Enum: []any{"a", 1}}}, {AdditionalProperties: &jsonschema.Schema{Pattern: "x"}}, {Extra: map[string]any{"x": 1}},
	} {
		want, err := s.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		got, err := encode(s)
		if d := cmp.Diff(string(want), string(got)); err != nil || d != "" {
			t.Errorf("%v (-want +got)\n%s", err, d)
		}
	}
}
