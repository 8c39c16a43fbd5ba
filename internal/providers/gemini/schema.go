package gemini

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
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
	maxSchemaBytes = 4 << 20 // that are read, a reference as often as it is followed
)

// A schema is what the API knows of JSON Schema, and refuses requests over the rest.
type schema struct {
	Type        string    `json:"type,omitzero"`
	Description string    `json:"description,omitzero"`
	Nullable    bool      `json:"nullable,omitzero"`
	Format      string    `json:"format,omitzero"`
	Enum        []string  `json:"enum,omitempty"`
	MinLength   int64     `json:"minLength,omitzero"`
	Properties  members   `json:"properties,omitempty"`
	Required    []string  `json:"required,omitempty"`
	Items       *schema   `json:"items,omitzero"`
	AnyOf       []*schema `json:"anyOf,omitempty"`
}

// members are properties, in the order in which the schema has them.
type members []member

type member struct {
	name   string
	schema *schema
}

func (m members) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, one := range m {
		if err := enc.WriteToken(jsontext.String(one.name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(enc, one.schema); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

func (m members) has(name string) bool {
	return slices.ContainsFunc(m, func(one member) bool { return one.name == name })
}

// reduce makes of a tool's JSON Schema what the API takes, or nil if there is nothing to
// say: a tool without arguments has no parameters, and one whose schema cannot be read may
// be called with any.
func reduce(input rawjson.Value) rawjson.Value {
	r := reducer{}
	if wire.Decode(input, &r.root) != nil {
		return nil
	}
	s := r.schema(input, 0)
	s.flatten()
	if s.Type != "object" || len(s.Properties) == 0 {
		return nil
	}
	s.Nullable = false
	text, err := wire.Marshal(s)
	if err != nil {
		return nil
	}
	return text
}

// flatten makes one object of alternatives: arguments are an object, and nothing else.
func (s *schema) flatten() {
	if len(s.AnyOf) == 0 {
		return
	}
	for _, one := range s.AnyOf {
		for _, p := range one.Properties {
			if !s.Properties.has(p.name) {
				s.Properties = append(s.Properties, p)
			}
		}
	}
	s.Type, s.AnyOf = "object", nil
}

// A reducer reads one schema.
type reducer struct {
	root         node
	nodes, bytes int
}

// A node is a schema as it is written. What has another shape than it should is left out.
type node map[string]rawjson.Value

func get[T any](n node, name string) (v T) {
	if raw, ok := n[name]; ok {
		if json.Unmarshal(raw, &v) != nil {
			var zero T
			return zero
		}
	}
	return v
}

// spent reports whether a schema was more than is read of one. What is left of it is left
// out, so that the result is no larger either.
func (r *reducer) spent() bool { return r.nodes > maxSchemaNodes || r.bytes > maxSchemaBytes }

// schema reads a schema. The result is never nil.
func (r *reducer) schema(raw rawjson.Value, depth int) *schema {
	var n node
	r.nodes++
	r.bytes += len(raw)
	if r.spent() || depth > maxSchemaDepth || json.Unmarshal(raw, &n) != nil || n == nil {
		return anything("")
	}
	if ref := get[string](n, "$ref"); ref != "" {
		s := r.schema(r.resolve(ref), depth+1)
		if text := get[string](n, "description"); text != "" {
			s.describe(text)
		}
		return s
	}
	s := &schema{Description: get[string](n, "description")}
	types := typesOf(n)
	s.values(n)
	all := get[[]rawjson.Value](n, "allOf")
	if len(all) == 1 && len(types) == 0 && n["properties"] == nil { // a reference with a description beside it
		return s.choose([]*schema{r.schema(all[0], depth+1)})
	}
	for _, part := range all {
		types = s.merge(r.schema(part, depth+1), types)
	}
	r.object(s, n, depth)
	var choices []*schema
	for _, name := range []string{"anyOf", "oneOf"} {
		for _, one := range get[[]rawjson.Value](n, name) {
			if isNull(one) {
				s.Nullable = true
				continue
			}
			if r.spent() {
				break
			}
			choices = append(choices, r.schema(one, depth+1))
		}
	}
	if len(choices) > 0 && len(s.Properties) == 0 && len(s.Enum) == 0 {
		return s.choose(choices)
	}
	return r.typed(s, n, types, depth)
}

// typed gives a schema its type, or one of several.
func (r *reducer) typed(s *schema, n node, types []string, depth int) *schema {
	if i := slices.Index(types, "null"); i >= 0 {
		types, s.Nullable = slices.Delete(types, i, i+1), true
	}
	switch {
	case len(s.Properties) > 0 && len(types) == 0:
		types = []string{"object"}
	case len(s.Enum) > 0 && len(types) == 0:
		types = []string{"string"}
	case n["items"] != nil && len(types) == 0:
		types = []string{"array"}
	case len(types) == 0:
		any := anything(s.Description)
		any.setNullable(s.Nullable)
		return any
	}
	var all []*schema
	for _, kind := range types {
		one := *s
		one.Type, one.Format = kind, formatOf(n, kind)
		one.keep(kind)
		if kind == "array" {
			one.Items = r.items(n, depth)
		}
		all = append(all, &one)
	}
	if len(all) == 1 {
		return all[0]
	}
	return &schema{AnyOf: all} // the API takes nothing beside it
}

// keep leaves a schema what belongs to its type.
func (s *schema) keep(kind string) {
	if kind != "string" {
		s.Enum, s.MinLength = nil, 0
	}
	if kind != "object" {
		s.Properties, s.Required = nil, nil
	}
}

// object reads the members of an object.
func (r *reducer) object(s *schema, n node, depth int) {
	properties, kind := wire.Split(n["properties"])
	for _, p := range properties {
		if kind == '{' && !r.spent() && !s.Properties.has(p.Name) {
			s.Properties = append(s.Properties, member{p.Name, r.schema(p.Value, depth+1)})
		}
	}
	required := get[[]string](n, "required")
	for _, name := range required[:min(len(required), maxRequired)] {
		if s.Properties.has(name) && !slices.Contains(s.Required, name) {
			s.Required = append(s.Required, name)
		}
	}
}

// items reads what a list holds. The API refuses a list that does not say.
func (r *reducer) items(n node, depth int) *schema {
	list := get[[]rawjson.Value](n, "prefixItems")
	if list == nil {
		list = get[[]rawjson.Value](n, "items") // as drafts before 2020 have it
	}
	var all []*schema
	for _, one := range list {
		if r.spent() {
			break
		}
		all = append(all, r.schema(one, depth+1))
	}
	switch {
	case len(all) > 0:
		return (&schema{}).choose(all)
	case n["items"].Kind() == '{':
		return r.schema(n["items"], depth+1)
	}
	return &schema{Type: "string"}
}

// resolve finds what a reference points to inside the schema. Others point to a server.
func (r *reducer) resolve(ref string) rawjson.Value {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	at := r.root
	steps := strings.Split(path, "/")
	for i, step := range steps {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		raw, ok := at[step]
		if !ok {
			return nil
		}
		if i == len(steps)-1 {
			return raw
		}
		at = nil
		if r.bytes += len(raw); r.spent() || json.Unmarshal(raw, &at) != nil {
			return nil
		}
	}
	return nil
}
