package skill_test

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

var (
	leaf   = rapid.SampledFrom([]any{nil, true, 0.0, 1.0, 2.5, "", "a", "ab"})
	letter = rapid.SampledFrom([]string{"a", "b", "c"})
)

// value draws a JSON value of a few kinds, so that schemas of the same kinds often fit.
func value(t *rapid.T, depth int) any {
	switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
	case depth > 0 && kind == 1:
		items := make([]any, rapid.IntRange(0, 3).Draw(t, "items"))
		for i := range items {
			items[i] = value(t, depth-1)
		}
		return items
	case depth > 0 && kind > 1:
		return object(t, depth)
	}
	return leaf.Draw(t, "leaf")
}

func object(t *rapid.T, depth int) map[string]any {
	members := make(map[string]any)
	for _, name := range rapid.SliceOfN(letter, 0, 3).Draw(t, "members") {
		members[name] = value(t, depth-1)
	}
	return members
}

// schemaOf draws a schema of the keywords that both validators know.
func schemaOf(t *rapid.T, depth int) map[string]any {
	s := make(map[string]any)
	inner := func() any { return schemaOf(t, depth-1) }
	count := rapid.IntRange(0, 2)
	keywords := []func(){
		func() {
			s["type"] = rapid.SampledFrom([]string{"object", "array", "string", "number", "integer", "null"}).Draw(t, "type")
		},
		func() { s["enum"] = []any{leaf.Draw(t, "enum"), leaf.Draw(t, "enum")} },
		func() { s["const"] = leaf.Draw(t, "const") },
		func() { s["minimum"] = 1 },
		func() { s["exclusiveMaximum"] = 1 },
		func() { s["multipleOf"] = 2 },
		func() { s["minLength"] = count.Draw(t, "length") },
		func() { s["pattern"] = "^a" },
		func() { s["maxItems"] = count.Draw(t, "items") },
		func() { s["uniqueItems"] = true },
		func() { s["required"] = []string{letter.Draw(t, "required")} },
		func() { s["maxProperties"] = count.Draw(t, "properties") },
		func() { s["additionalProperties"] = false },
		func() {
			s["dependentRequired"] = map[string][]string{letter.Draw(t, "with"): {letter.Draw(t, "needs")}}
		},
		func() { s["properties"] = map[string]any{letter.Draw(t, "a"): inner(), letter.Draw(t, "b"): inner()} },
		func() { s["patternProperties"] = map[string]any{"[ab]": inner()} },
		func() { s["items"], s["prefixItems"] = inner(), []any{inner()} },
		func() { s["contains"] = inner() },
		func() { s["allOf"] = []any{inner(), inner()} },
		func() { s["anyOf"] = []any{inner(), inner()} },
		func() { s["oneOf"] = []any{inner(), inner()} },
		func() { s["not"] = inner() },
		func() { s["if"], s["then"], s["else"] = inner(), inner(), inner() },
		func() { s["propertyNames"] = inner() },
	}
	first, last := 0, len(keywords)-1
	if depth == 0 {
		last = 13 // those without schemas in them
	}
	for range rapid.IntRange(0, 2).Draw(t, "keywords") {
		keywords[rapid.IntRange(first, last).Draw(t, "keyword")]()
	}
	return s
}

// On schemas that are not hostile the verdict is that of a whole validator.
func TestCheckAgreesWithTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		schema, err := json.Marshal(schemaOf(t, 3))
		if err != nil {
			t.Fatal(err)
		}
		given := &given{fake: fake{name: "s"}, list: []skill.Tool{{Name: "tool", InputSchema: schema}}}
		box, err := skill.NewToolbox(t.Context(), []skill.Source{{Skill: given}}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		var parsed jsonschema.Schema
		if err := json.Unmarshal(schema, &parsed); err != nil {
			t.Fatal(err)
		}
		resolved, err := parsed.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		args := object(t, 3)
		text, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		want, got := resolved.Validate(args), box.Check(event.ToolCall{ToolName: "tool", Args: text})
		if (want == nil) != (got == nil) {
			t.Fatalf("schema %s\narguments %s\nthe library says: %v\nwe say: %v", schema, text, want, got)
		}
	})
}
