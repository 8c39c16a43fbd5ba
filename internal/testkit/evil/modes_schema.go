package evil

import (
	"strings"

	"github.com/perstack-go/perstack/rawjson"
)

// schemaModes are about the schemas of tools, and about lists that are too much.
func schemaModes() []Mode {
	return []Mode{
		{"bad-schema", "schemas are no objects, or say nonsense", func(s *server) {
			s.tools = nil
			for name, schema := range map[string]any{
				"text":     "object",
				"list":     []string{"object"},
				"null":     nil,
				"number":   7,
				"array":    object{"type": "array"},
				"nonsense": object{"type": "object", "properties": []int{1}, "required": "all"},
				"itself":   object{"type": "object", "properties": object{"a": object{"$ref": "#"}}},
				"fetch":    object{"$ref": "http://127.0.0.1:1/schema.json"},
				"pattern":  object{"type": "object", "properties": object{"a": object{"type": "string", "pattern": "^(a+)+$"}}},
			} {
				s.tools = append(s.tools, tool{name, "A tool.", schema, func(*server, arguments) object { return text("called") }})
			}
		}},
		{"huge-schema", "the schema of a tool has --mib (10) MiB", func(s *server) {
			s.tools[0].schema = object{"type": "object", "description": strings.Repeat("x", s.size(10))}
		}},
		{"deep-schema", "the schema of a tool is nested n (10,000) deep", func(s *server) {
			depth := s.n(10_000)
			s.tools[0].schema = rawjson.Value(strings.Repeat(`{"type":"object","properties":{"a":`, depth) +
				`{}` + strings.Repeat(`}}`, depth))
		}},
		{"many-tools", "the list has n (10,000) tools", func(s *server) {
			one := s.tools[0]
			for i := range s.n(10_000) {
				one.name = "echo" + strings.Repeat("x", i%40) + string(rune('a'+i%26)) + decimal(i)
				s.tools = append(s.tools, one)
			}
		}},
	}
}
