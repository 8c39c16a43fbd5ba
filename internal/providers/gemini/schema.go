package gemini

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/rawjson"
)

// What a schema may grow to when its references are put in place. Tools come from servers
// that may be hostile; a schema that refers to itself, or doubles at every reference, is
// cut there.
const (
	maxSchemaDepth = 16
	maxSchemaNodes = 1000
	maxEnum        = 500
	maxRequired    = 5000
	maxSchemaWork  = 4 << 20 // bytes that are read, a reference as often as it is followed
)

// reduce makes of a tool's JSON Schema what the API takes, or nil if there is nothing to
// say: a tool without arguments has no parameters, and one whose schema cannot be read may
// be called with any.
func reduce(input rawjson.Value) rawjson.Value {
	r := reducer{root: wire.Member{Value: input}}
	r.root.Inside, _ = wire.Split(input)
	all := r.schema(r.root, 0)
	s := all[0]
	if len(all) > 1 { // arguments are one object, and nothing else
		s = &schema{Type: "object"}
		for _, one := range all {
			s.adopt(one)
		}
	}
	if s.Type != "object" || len(s.Properties) == 0 {
		return nil
	}
	s.Nullable = false
	return wire.Marshal(s, nil) // it cannot fail: all of it was read from JSON
}

// A reducer reads one schema. What has another shape than it should is left out.
type reducer struct {
	root        wire.Member
	nodes, work int
}

// word is a member that is a text.
func word(n wire.Members, name string) string {
	if raw := n.Get(name); raw.Kind() == '"' {
		return wire.Word(raw)
	}
	return ""
}

// list is a member that is a list.
func list(n wire.Members, name string) wire.Members {
	if m := n.Find(name); m.Value.Kind() == '[' {
		return m.Inside
	}
	return nil
}

// spent reports whether a schema was more than is read of one. What is left of it is left
// out, so that the result is no larger either.
func (r *reducer) spent() bool { return r.nodes > maxSchemaNodes || r.work > maxSchemaWork }

// schema reads a schema. The result is never empty.
func (r *reducer) schema(m wire.Member, depth int) alternatives {
	r.nodes++
	r.work += len(m.Value)
	if r.spent() || depth > maxSchemaDepth || m.Value.Kind() != '{' {
		return anything()
	}
	n := m.Inside
	s := &schema{Description: word(n, "description")}
	if ref := word(n, "$ref"); ref != "" {
		return r.schema(r.resolve(ref), depth+1).with(s.Description, false)
	}
	types := typesOf(n)
	s.values(n)
	all := list(n, "allOf")
	if len(all) == 1 && len(types) == 0 && n.Get("properties") == nil { // a reference with a description beside it
		return r.schema(all[0], depth+1).with(s.Description, s.Nullable)
	}
	for _, one := range all {
		if part := r.schema(one, depth+1); len(part) == 1 {
			types = s.merge(part[0], types)
		}
	}
	r.object(s, n, depth)
	var choices alternatives
	for _, one := range slices.Concat(list(n, "anyOf"), list(n, "oneOf")) {
		if isNull(one) {
			s.Nullable = true
			continue
		}
		if r.spent() {
			break
		}
		choices = append(choices, r.schema(one, depth+1)...)
	}
	if len(choices) > 0 && len(s.Properties) == 0 && len(s.Enum) == 0 {
		return choices.with(s.Description, s.Nullable)
	}
	return r.typed(s, n, types, depth)
}

// typed gives a schema its type, or one of several.
func (r *reducer) typed(s *schema, n wire.Members, types []string, depth int) (all alternatives) {
	if i := slices.Index(types, "null"); i >= 0 {
		types, s.Nullable = slices.Delete(types, i, i+1), true
	}
	switch {
	case len(types) > 0:
	case len(s.Properties) > 0:
		types = []string{"object"}
	case len(s.Enum) > 0:
		types = []string{"string"}
	case n.Get("items") != nil:
		types = []string{"array"}
	default:
		return anything().with(s.Description, s.Nullable)
	}
	for _, kind := range types {
		one := *s
		one.Type = kind
		if format := word(n, "format"); slices.Contains(formats[kind], format) {
			one.Format = format
		}
		if kind != "string" {
			one.Enum, one.MinLength = nil, 0
		}
		if kind != "object" {
			one.Properties, one.Required = nil, nil
		}
		if kind == "array" {
			one.Items = r.items(n, depth)
		}
		all = append(all, &one)
	}
	return all
}

// formats are those that the API knows.
var formats = map[string][]string{"string": {"date-time"}, "number": {"float", "double"}, "integer": {"int32", "int64"}}

// typesOf reads type, which is a word or a list of them.
func typesOf(n wire.Members) (types []string) {
	for _, one := range slices.Concat(list(n, "type"), wire.Members{n.Find("type")}) {
		switch kind := strings.ToLower(wire.Word(one.Value)); kind {
		case "string", "number", "integer", "boolean", "array", "object", "null":
			if !slices.Contains(types, kind) {
				types = append(types, kind)
			}
		}
	}
	return types
}

// isNull reports whether an alternative is that there is nothing.
func isNull(m wire.Member) bool { return slices.Equal(typesOf(m.Inside), []string{"null"}) }

// object reads the members of an object, in their order.
func (r *reducer) object(s *schema, n wire.Members, depth int) {
	properties := n.Find("properties")
	for _, p := range properties.Inside {
		if properties.Value.Kind() == '{' && !r.spent() && s.Properties.Get(p.Name) == nil {
			s.Properties.Set(p.Name, wire.Marshal(r.schema(p, depth+1), nil))
		}
	}
	required := list(n, "required")
	for _, one := range required[:min(len(required), maxRequired)] {
		name := wire.Word(one.Value)
		if s.Properties.Get(name) != nil && !slices.Contains(s.Required, name) {
			s.Required = append(s.Required, name)
		}
	}
}

// items reads what a list holds. The API refuses a list that does not say.
func (r *reducer) items(n wire.Members, depth int) (all alternatives) {
	several := list(n, "prefixItems")
	if several == nil {
		several = list(n, "items") // as drafts before 2020 have it
	}
	for _, one := range several {
		if r.spent() {
			break
		}
		all = append(all, r.schema(one, depth+1)...)
	}
	switch one := n.Find("items"); {
	case len(all) > 0:
		return all
	case one.Value.Kind() == '{':
		return r.schema(one, depth+1)
	}
	return alternatives{{Type: "string"}}
}

// resolve finds what a reference points to inside the schema. Others point to a server.
func (r *reducer) resolve(ref string) (m wire.Member) {
	if !strings.HasPrefix(ref, "#/") {
		return m
	}
	m = r.root
	for step := range jsontext.Pointer(ref[1:]).Tokens() {
		r.work += len(m.Inside) // one may have very many to look through
		m = m.Inside.Find(step)
	}
	return m
}
