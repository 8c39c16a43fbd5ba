package gemini

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/providers/wire"
)

// A schema is what the API knows of JSON Schema, and refuses requests over the rest.
type schema struct {
	Type        string       `json:"type,omitzero"`
	Description string       `json:"description,omitzero"`
	Nullable    bool         `json:"nullable,omitzero"`
	Format      string       `json:"format,omitzero"`
	Enum        []string     `json:"enum,omitempty"`
	MinLength   int64        `json:"minLength,omitzero"`
	Properties  wire.Members `json:"properties,omitzero"`
	Required    []string     `json:"required,omitempty"`
	Items       alternatives `json:"items,omitzero"`
}

// alternatives are what a value may be: one schema, or any of several. The API takes nothing
// beside several, so that each says what the whole does, and has no alternatives itself.
type alternatives []*schema

// anything is a value of any type: what a schema says that says nothing.
func anything() (a alternatives) {
	for _, kind := range []string{"string", "number", "boolean", "object"} {
		a = append(a, &schema{Type: kind})
	}
	return append(a, &schema{Type: "array", Items: alternatives{{Type: "string"}}})
}

func (a alternatives) MarshalJSONTo(enc *jsontext.Encoder) error {
	if len(a) == 1 {
		return json.MarshalEncode(enc, a[0])
	}
	return json.MarshalEncode(enc, map[string][]*schema{"anyOf": a})
}

// maxRepeated bounds the bytes of a description that is repeated in alternatives.
const maxRepeated = 16 << 10

// with adds what is said of the whole. The words of one of several alternatives are its own.
// A description that would be repeated too often is said of the first alternative only.
func (a alternatives) with(description string, nullable bool) alternatives {
	for i, s := range a {
		s.Nullable = s.Nullable || nullable
		if i > 0 && len(description) > maxRepeated/len(a) {
			continue
		}
		if description != "" && (len(a) == 1 || s.Description == "") {
			s.Description = description
		}
	}
	return a
}

// adopt adds the properties of another schema that this one lacks.
func (s *schema) adopt(other *schema) {
	for _, p := range other.Properties {
		if s.Properties.Get(p.Name) == nil {
			s.Properties = append(s.Properties, p)
		}
	}
}

// merge adds a part of an allOf, and returns the types that are left.
func (s *schema) merge(part *schema, types []string) []string {
	s.adopt(part)
	s.Required = append(s.Required, part.Required...)
	if s.Description == "" {
		s.Description = part.Description
	}
	if len(s.Enum) == 0 {
		s.Enum = part.Enum
	}
	s.MinLength = max(s.MinLength, part.MinLength)
	if len(types) == 0 {
		types = []string{part.Type}
	}
	return types
}

// values reads what a value may be. The API takes lists of texts only: other values are
// said in words.
func (s *schema) values(n wire.Members) {
	if least, err := strconv.ParseInt(string(n.Get("minLength")), 10, 64); err == nil {
		s.MinLength = max(least, 0)
	}
	all := list(n, "enum")
	if one := n.Get("const"); one != nil {
		all = wire.Members{{Value: one}}
	}
	if len(all) > maxEnum { // no model learns them, and a server must not cost a run its time
		s.Description = strings.TrimSpace(s.Description + fmt.Sprintf(" One of %d values.", len(all)))
		return
	}
	var others []string
	for _, one := range all {
		switch text := wire.Word(one.Value); {
		case one.Value.Kind() == 'n':
			s.Nullable = true
		case one.Value.Kind() != '"':
			others = append(others, string(one.Value))
		case text != "" && !slices.Contains(s.Enum, text):
			s.Enum = append(s.Enum, text)
		}
	}
	if len(others) > 0 {
		s.Enum = nil
		s.Description = strings.TrimSpace(s.Description + " One of: " + strings.Join(others, ", "))
	}
}
