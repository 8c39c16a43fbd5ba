package gemini_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/providers/gemini"
	"github.com/perstack-go/perstack/rawjson"
)

// anything is what a schema says that says nothing.
const anything = `{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"},{"type":"object"},{"type":"array","items":{"type":"string"}}]}`

func TestReduce(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{``, ``}, {`null`, ``}, {`[]`, ``}, {`true`, ``}, {`{`, ``}, {`{}`, ``}, {`{"type":"object"}`, ``}, {`{"type":"object","properties":{}}`, ``},
		{`{"type":"string"}`, ``}, {`{"type":"object","properties":5}`, ``},
		// what the API does not know goes, what it does stays in its order
		{
			`{"$schema":"s","type":"object","additionalProperties":false,"properties":{"b":{"type":"string","minLength":1,"pattern":"x","default":"y"},"a":{"type":"integer","minimum":0}},"required":["b","c"]}`,
			`{"type":"object","properties":{"b":{"type":"string","minLength":1},"a":{"type":"integer"}},"required":["b"]}`,
		},
		// arguments are never nothing
		{`{"type":["object","null"],"properties":{"a":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		// types
		{`{"properties":{"a":{"type":["string","null"]}}}`, `{"type":"object","properties":{"a":{"type":"string","nullable":true}}}`},
		{`{"properties":{"a":{"type":["string","integer"],"description":"d"}}}`, `{"type":"object","properties":{"a":{"anyOf":[{"type":"string","description":"d"},{"type":"integer","description":"d"}]}}}`},
		{`{"properties":{"a":{"type":"STRING"},"b":{"type":"odd"}}}`, `{"type":"object","properties":{"a":{"type":"string"},"b":` + anything + `}}`},
		{`{"properties":{"a":true,"b":{}}}`, `{"type":"object","properties":{"a":` + anything + `,"b":` + anything + `}}`},
		{`{"properties":{"a":{"type":"null"}}}`, `{"type":"object","properties":{"a":` + strings.ReplaceAll(strings.ReplaceAll(anything, `"}`, `","nullable":true}`), `"items":{"type":"string","nullable":true}`, `"nullable":true,"items":{"type":"string"}`) + `}}`},
		// values
		{`{"properties":{"a":{"const":"x"},"b":{"enum":["x","",null,"x"]}}}`, `{"type":"object","properties":{"a":{"type":"string","enum":["x"]},"b":{"type":"string","nullable":true,"enum":["x"]}}}`},
		{`{"properties":{"a":{"type":"integer","enum":[1,2],"description":"How."}}}`, `{"type":"object","properties":{"a":{"type":"integer","description":"How. One of: 1, 2"}}}`},
		{`{"properties":{"a":{"type":"string","enum":["x",1]}}}`, `{"type":"object","properties":{"a":{"type":"string","description":"One of: 1"}}}`},
		{`{"properties":{"a":{"type":"string","format":"date-time"},"b":{"type":"string","format":"uri"},"c":{"type":"integer","format":"int64"}}}`, `{"type":"object","properties":{"a":{"type":"string","format":"date-time"},"b":{"type":"string"},"c":{"type":"integer","format":"int64"}}}`},
		{`{"properties":{"a":{"type":"string","enum":[` + strings.Repeat(`"x",`, 500) + `"y"]}}}`, `{"type":"object","properties":{"a":{"type":"string","description":"One of 501 values."}}}`},
		// lists
		{`{"properties":{"a":{"type":"array"},"b":{"type":"array","items":{"type":"number"}},"c":{"items":{"type":"string"}},"d":{"type":"array","items":true}}}`, `{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}},"b":{"type":"array","items":{"type":"number"}},"c":{"type":"array","items":{"type":"string"}},"d":{"type":"array","items":{"type":"string"}}}}`},
		{`{"properties":{"a":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}]}}}`, `{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"number"}]}}}}`},
		// alternatives: nothing stands beside them
		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"description":"d"}}}`, `{"type":"object","properties":{"a":{"type":"string","description":"d","nullable":true}}}`},
		{`{"properties":{"a":{"oneOf":[{"type":"string","description":"s"},{"type":"number"},{"type":"null"}],"description":"d"}}}`, `{"type":"object","properties":{"a":{"anyOf":[{"type":"string","description":"s","nullable":true},{"type":"number","description":"d","nullable":true}]}}}`},
		{`{"properties":{"a":{"anyOf":[{"type":["string","number"]},{"type":"boolean"}]}}}`, `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"}]}}}`},
		{`{"type":"object","anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"number"}}}]}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"}}}`},
		{`{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]}]}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		{`{"properties":{"a":{"allOf":[{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]},{"properties":{"y":{"type":"number"}}}]}}}`, `{"type":"object","properties":{"a":{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"number"}},"required":["x"]}}}`},
		// references
		{
			`{"$defs":{"p":{"type":"object","properties":{"x":{"$ref":"#/$defs/n"}}},"n":{"type":"number"}},"properties":{"a":{"$ref":"#/$defs/p","description":"d"},"b":{"allOf":[{"$ref":"#/$defs/n"}],"description":"e"},"c":{"$ref":"https://example.com/s"},"d":{"$ref":"#/nowhere/at/all"}}}`,
			`{"type":"object","properties":{"a":{"type":"object","description":"d","properties":{"x":{"type":"number"}}},"b":{"type":"number","description":"e"},"c":` + anything + `,"d":` + anything + `}}`,
		},
	} {
		got := gemini.Reduce(rawjson.Value(tt.in))
		if string(got) != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.in, got, tt.want)
		}
		checkReduced(t, got)
	}
}

// A schema that refers to itself, or doubles at every reference, is cut.
func TestReduceHostile(t *testing.T) {
	var doubling strings.Builder
	doubling.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range 40 {
		next := `{"$ref":"#/$defs/d` + string(rune('0'+(i+1)/10)) + string(rune('0'+(i+1)%10)) + `"}`
		name := `d` + string(rune('0'+i/10)) + string(rune('0'+i%10))
		if i == 0 {
			name = "d0"
		}
		doubling.WriteString(`"` + name + `":{"type":"object","properties":{"l":` + next + `,"r":` + next + `}},`)
	}
	doubling.WriteString(`"end":{"type":"string"}}}`)
	var wide strings.Builder
	wide.WriteString(`{"type":"object","properties":{`)
	for i := range 300 {
		wide.WriteString(`"p` + strings.Repeat("x", i) + `":{"$ref":"#"},`)
	}
	wide.WriteString(`"end":{"type":"string"}}}`)
	var many strings.Builder
	many.WriteString(`{"type":"object","properties":{`)
	for i := range 20_000 {
		many.WriteString(`"p` + strconv.Itoa(i) + `":{"type":"string"},`)
	}
	many.WriteString(`"end":{"type":"string"}}}`)
	for _, in := range []string{
		wide.String(), many.String(),
		`{"type":"object","properties":{"self":{"$ref":"#"},"a":{"$ref":"#/properties/a"},"b":{"type":"array","items":{"$ref":"#/properties/b"}}}}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`,
		doubling.String(),
		`{"type":"object","properties":{"a":` + strings.Repeat(`{"type":"array","items":`, 60) + `{}` + strings.Repeat(`}`, 60) + `}}`,
		strings.Repeat(`{"items":`, 100_000),
		`{"type":"object","properties":{"x":{"description":"` + strings.Repeat("d", 20_000) + `","anyOf":[` + strings.Repeat(`{},`, 900) + `{}]}}}`,
	} {
		got := gemini.Reduce(rawjson.Value(in))
		checkReduced(t, got)
		if len(got) > 200_000 {
			t.Errorf("%.60s became %d bytes", in, len(got))
		}
	}
}

// checkReduced: the service would take it.
func checkReduced(t *testing.T, got rawjson.Value) {
	t.Helper()
	if got == nil {
		return
	}
	var root reduced
	if err := json.Unmarshal(got, &root, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	if root.Type != "object" || len(root.Properties) == 0 || root.Nullable {
		t.Errorf("a root of %s", got)
	}
	root.check(t, 0)
}

type reduced struct {
	Type        string             `json:"type"`
	Description string             `json:"description"`
	Nullable    bool               `json:"nullable"`
	Format      string             `json:"format"`
	Enum        []string           `json:"enum"`
	MinLength   int64              `json:"minLength"`
	Properties  map[string]reduced `json:"properties"`
	Required    []string           `json:"required"`
	Items       *reduced           `json:"items"`
	AnyOf       []reduced          `json:"anyOf"`
}

func (r *reduced) check(t *testing.T, depth int) {
	t.Helper()
	known := slices.Contains([]string{"string", "number", "integer", "boolean", "array", "object"}, r.Type)
	switch {
	case depth > 40:
		t.Fatal("it is too deep")
	case known == (len(r.AnyOf) > 0), len(r.AnyOf) > 0 && (r.Nullable || r.Description != "" || r.Items != nil || len(r.Properties) > 0):
		t.Errorf("a type, or alternatives, and nothing beside: %+v", r)
	case (r.Type == "array") != (r.Items != nil), len(r.Enum) > 0 && r.Type != "string", slices.Contains(r.Enum, ""), len(r.Properties) > 0 && r.Type != "object":
		t.Errorf("%+v", r)
	}
	for _, name := range r.Required {
		if _, ok := r.Properties[name]; !ok {
			t.Errorf("%q is required and not there", name)
		}
	}
	for _, one := range r.Properties {
		one.check(t, depth+1)
	}
	for _, one := range r.AnyOf {
		if len(one.AnyOf) > 0 {
			t.Error("alternatives in alternatives")
		}
		one.check(t, depth+1)
	}
	if r.Items != nil {
		r.Items.check(t, depth+1)
	}
}

func FuzzSchema(f *testing.F) {
	for _, tt := range []string{
		`{"type":"object","properties":{"a":{"anyOf":[{"type":["string","null"]},{"enum":[1,"x"]}]}},"required":["a"]}`,
		`{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"x":{"$ref":"#/$defs/a"}}}}}`,
		`{"allOf":[{"properties":{"a":{"const":null}}},{"items":[{},true]}]}`, `[]`, ``,
	} {
		f.Add([]byte(tt))
	}
	f.Fuzz(func(t *testing.T, in []byte) { checkReduced(t, gemini.Reduce(in)) })
}
