package gemini

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/rawjson"
)

// typesOf reads type, which is a word or a list of them.
func typesOf(n node) (types []string) {
	all := get[[]string](n, "type")
	if one := get[string](n, "type"); one != "" {
		all = []string{one}
	}
	for _, kind := range all {
		switch kind = strings.ToLower(kind); kind {
		case "string", "number", "integer", "boolean", "array", "object", "null":
			if !slices.Contains(types, kind) {
				types = append(types, kind)
			}
		}
	}
	return types
}

// formatOf is the format, if the API knows it.
func formatOf(n node, kind string) string {
	format := get[string](n, "format")
	known := map[string][]string{"string": {"date-time"}, "number": {"float", "double"}, "integer": {"int32", "int64"}}
	if slices.Contains(known[kind], format) {
		return format
	}
	return ""
}

// values reads what a value may be. The API takes lists of texts only: other values are
// said in words.
func (s *schema) values(n node) {
	s.MinLength = max(get[int64](n, "minLength"), 0)
	all := get[[]rawjson.Value](n, "enum")
	if one, ok := n["const"]; ok {
		all = []rawjson.Value{one}
	}
	if len(all) > maxEnum { // no model learns them, and a server must not cost a run its time
		s.Description = strings.TrimSpace(s.Description + fmt.Sprintf(" One of %d values.", len(all)))
		return
	}
	var others []string
	for _, raw := range all {
		var text string
		switch {
		case raw.Kind() == 'n':
			s.Nullable = true
		case json.Unmarshal(raw, &text) != nil:
			others = append(others, string(raw))
		case text != "" && !slices.Contains(s.Enum, text):
			s.Enum = append(s.Enum, text)
		}
	}
	if len(others) > 0 {
		s.Enum = nil
		s.Description = strings.TrimSpace(s.Description + " One of: " + strings.Join(others, ", "))
	}
}

// choose makes a schema of alternatives. The API takes nothing beside them, so that each
// says what the whole does.
func (s *schema) choose(choices []*schema) *schema {
	var all []*schema
	for _, one := range choices {
		if len(one.AnyOf) > 0 {
			all = append(all, one.AnyOf...)
			continue
		}
		all = append(all, one)
	}
	whole := &schema{AnyOf: all}
	if len(all) == 1 {
		whole = all[0]
	}
	whole.setNullable(s.Nullable)
	whole.describe(s.Description)
	return whole
}

func (s *schema) setNullable(yes bool) {
	if len(s.AnyOf) == 0 {
		s.Nullable = s.Nullable || yes
	}
	for _, one := range s.AnyOf {
		one.setNullable(yes)
	}
}

func (s *schema) describe(text string) {
	if text == "" {
		return
	}
	if len(s.AnyOf) == 0 {
		s.Description = text
		return
	}
	for _, one := range s.AnyOf {
		if one.Description == "" {
			one.Description = text
		}
	}
}

// merge adds a part of an allOf, and returns the types that are left.
func (s *schema) merge(part *schema, types []string) []string {
	for _, p := range part.Properties {
		if !s.Properties.has(p.name) {
			s.Properties = append(s.Properties, p)
		}
	}
	s.Required = append(s.Required, part.Required...)
	if s.Description == "" {
		s.Description = part.Description
	}
	if len(s.Enum) == 0 {
		s.Enum = part.Enum
	}
	s.MinLength = max(s.MinLength, part.MinLength)
	if len(types) == 0 && part.Type != "" {
		types = []string{part.Type}
	}
	return types
}

// isNull reports whether an alternative is that there is nothing.
func isNull(raw rawjson.Value) bool {
	var n node
	return json.Unmarshal(raw, &n) == nil && slices.Equal(typesOf(n), []string{"null"})
}

// anything is a value of any type: what a schema says that says nothing.
func anything(description string) *schema {
	s := &schema{}
	for _, kind := range []string{"string", "number", "boolean", "object"} {
		s.AnyOf = append(s.AnyOf, &schema{Type: kind, Description: description})
	}
	s.AnyOf = append(s.AnyOf, &schema{Type: "array", Description: description, Items: &schema{Type: "string"}})
	return s
}
