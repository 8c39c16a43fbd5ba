package wire

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/rawjson"
)

// Members are what an object or a list holds, in its order. Those of a list have no names.
type Members []Member

// A Member is an element of [Members].
type Member struct {
	Name  string
	Value rawjson.Value
}

// Split takes an object or a list apart. kind is '{' or '[', or 0 if raw is neither.
func Split(raw rawjson.Value) (members Members, kind jsontext.Kind) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowInvalidUTF8(true))
	start, err := dec.ReadToken()
	if err != nil || start.Kind() != '{' && start.Kind() != '[' {
		return nil, 0
	}
	kind = start.Kind()
	for dec.PeekKind() != '}' && dec.PeekKind() != ']' {
		var m Member
		if kind == '{' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, 0
			}
			m.Name = name.String() // the token is gone after the next read
		}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, 0
		}
		m.Value = rawjson.Value(value.Clone())
		members = append(members, m)
	}
	return members, kind
}

// Join puts an object or a list together.
func (m Members) Join(kind jsontext.Kind) rawjson.Value {
	text := []byte{byte(kind)}
	for i, one := range m {
		if i > 0 {
			text = append(text, ',')
		}
		if kind == '{' {
			text = append(append(text, Quote(one.Name)...), ':')
		}
		text = append(text, one.Value...)
	}
	return append(text, byte(kind)+2) // ] and } follow [ and { by two
}

// MarshalJSONTo writes an object.
func (m Members) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue([]byte(m.Join('{')))
}

// Get returns the value of a member; nil if there is none.
func (m Members) Get(name string) rawjson.Value {
	for _, one := range m {
		if one.Name == name {
			return one.Value
		}
	}
	return nil
}

// Set replaces the value of a member, or adds one.
func (m *Members) Set(name string, value rawjson.Value) {
	for i := range *m {
		if (*m)[i].Name == name {
			(*m)[i].Value = value
			return
		}
	}
	*m = append(*m, Member{name, value})
}

// A SchemaFitter changes a JSON Schema, and the schemas inside it, into what an API takes.
type SchemaFitter struct {
	// Inside are the keywords that hold schemas: '{' by their names, '[' in a list, 's' one.
	Inside map[string]jsontext.Kind

	Fit func(*Members) (changed bool) // changes one schema, after those inside it

	// Instead replaces a schema that is not an object, such as true, or that is nested too
	// deeply; nil leaves it as it is.
	Instead rawjson.Value
}

// maxSchema is how deep a schema is looked at.
const maxSchema = 50

// Object changes a schema that was taken apart.
func (f *SchemaFitter) Object(members *Members) (changed bool) { return f.object(members, 0) }

func (f *SchemaFitter) object(members *Members, depth int) (changed bool) {
	for i := range *members {
		m := &(*members)[i]
		switch kind := f.Inside[m.Name]; kind {
		case 's':
			changed = f.schema(&m.Value, depth) || changed
		case '{', '[':
			inner, has := Split(m.Value)
			fitted := false
			for j := range inner {
				fitted = has == kind && f.schema(&inner[j].Value, depth) || fitted
			}
			if fitted {
				m.Value, changed = inner.Join(kind), true
			}
		}
	}
	return f.Fit(members) || changed
}

func (f *SchemaFitter) schema(raw *rawjson.Value, depth int) (changed bool) {
	members, kind := Split(*raw)
	switch {
	case kind != '{' || depth >= maxSchema:
		if f.Instead != nil {
			*raw = f.Instead
		}
		return f.Instead != nil
	case f.object(&members, depth+1):
		*raw = members.Join('{')
		return true
	}
	return false
}

// NoArguments is the schema of a tool without arguments.
const NoArguments = `{"type":"object","properties":{}}`

var openAI = SchemaFitter{
	Inside: map[string]jsontext.Kind{
		"properties": '{', "patternProperties": '{', "$defs": '{', "definitions": '{',
		"anyOf": '[', "oneOf": '[', "allOf": '[', "prefixItems": '[',
		"items": 's', "additionalProperties": 's', "not": 's',
	},
	Fit: func(m *Members) (changed bool) {
		kinds, _ := Split(m.Get("type"))
		isList := string(m.Get("type")) == `"array"` || slices.ContainsFunc(kinds, func(k Member) bool { return string(k.Value) == `"array"` })
		if isList && m.Get("items") == nil {
			m.Set("items", rawjson.Value(`{}`))
			changed = true
		}
		return changed
	},
}

// Schema is the schema of a tool as the APIs of OpenAI take it. They refuse the whole
// request for one tool whose arguments are not said to be an object with properties, that
// has alternatives at the outermost level, or that has a list without a type for its items.
// All of this is common among servers. What can be sent as it is, is.
func Schema(given rawjson.Value) rawjson.Value {
	members, kind := Split(given)
	if kind != '{' || Bound(given) != nil {
		return rawjson.Value(NoArguments)
	}
	changed := openAI.Object(&members)
	for _, name := range []string{"oneOf", "anyOf", "allOf"} {
		alternatives, _ := Split(members.Get(name))
		for _, one := range alternatives {
			members.adopt(one.Value)
		}
	}
	before := len(members)
	members = slices.DeleteFunc(members, func(m Member) bool {
		return slices.Contains([]string{"oneOf", "anyOf", "allOf", "enum", "not"}, m.Name)
	})
	changed = changed || len(members) < before
	if string(members.Get("type")) != `"object"` {
		members.Set("type", rawjson.Value(`"object"`))
		changed = true
	}
	if members.Get("properties").Kind() != '{' {
		members.Set("properties", rawjson.Value(`{}`))
		changed = true
	}
	if !changed {
		return given
	}
	return members.Join('{')
}

func (m *Members) adopt(alternative rawjson.Value) {
	one, _ := Split(alternative)
	more, kind := Split(one.Get("properties"))
	own, _ := Split(m.Get("properties"))
	for _, p := range more {
		if own.Get(p.Name) == nil {
			own = append(own, p)
		}
	}
	if kind == '{' && len(more) > 0 {
		m.Set("properties", own.Join('{'))
	}
}
