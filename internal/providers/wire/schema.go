package wire

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/rawjson"
)

// Members are what an object or a list holds, in its order. Those of a list have no names.
type Members []Member

// A Member is an element of [Members]. If it is an object or a list, Inside is what it holds.
type Member struct {
	Name   string
	Value  rawjson.Value
	Inside Members
}

// Split takes an object or a list apart, and what is inside it, without copying it. kind is
// '{' or '[', or 0 if raw is neither, or more than [Bound] allows.
func Split(raw rawjson.Value) (members Members, kind jsontext.Kind) {
	if Bound(raw) != nil {
		return nil, 0
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowInvalidUTF8(true))
	whole, err := split(dec, raw)
	if kind = jsontext.Kind(whole.Value.Kind()); err != nil || kind != '{' && kind != '[' {
		return nil, 0
	}
	return whole.Inside, kind
}

func split(dec *jsontext.Decoder, raw rawjson.Value) (m Member, err error) {
	kind := dec.PeekKind()
	if kind != '{' && kind != '[' {
		value, err := dec.ReadValue()
		end := int(dec.InputOffset())
		return Member{Value: raw[end-len(value) : end : end]}, err
	}
	if _, err := dec.ReadToken(); err != nil {
		return m, err
	}
	start := dec.InputOffset() - 1
	for dec.PeekKind() != kind+2 { // ] and } follow [ and { by two
		name := ""
		if kind == '{' {
			token, err := dec.ReadToken()
			if err != nil {
				return m, err
			}
			name = token.String() // the token is gone after the next read
		}
		one, err := split(dec, raw)
		if err != nil {
			return m, err
		}
		one.Name = name
		m.Inside = append(m.Inside, one)
	}
	_, err = dec.ReadToken()
	end := dec.InputOffset()
	m.Value = raw[start:end:end]
	return m, err
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

// Find returns a member; one without a value if there is none.
func (m Members) Find(name string) Member {
	for _, one := range m {
		if one.Name == name {
			return one
		}
	}
	return Member{}
}

// Get returns the value of a member; nil if there is none.
func (m Members) Get(name string) rawjson.Value { return m.Find(name).Value }

// object returns what a member holds that is an object.
func (m Members) object(name string) Members {
	if found := m.Find(name); found.Value.Kind() == '{' {
		return found.Inside
	}
	return nil
}

// Set replaces a member, or adds one.
func (m *Members) Set(name string, value rawjson.Value) {
	one := Member{Name: name, Value: value}
	at := slices.IndexFunc(*m, func(other Member) bool { return other.Name == name })
	if at < 0 {
		*m = append(*m, one)
		return
	}
	(*m)[at] = one
}

// A SchemaFitter changes a JSON Schema, and the schemas inside it, into what an API takes.
type SchemaFitter struct {
	// Inside are the keywords that hold schemas: '{' by their names, '[' in a list, 's' one.
	Inside map[string]jsontext.Kind

	Fit func(*Members) // changes one schema, after those inside it

	// Instead replaces a schema that is not an object, such as true, or that is nested too
	// deeply; nil leaves it as it is.
	Instead rawjson.Value
}

// maxSchema is how deep a schema is looked at.
const maxSchema = 50

// Object changes a schema that was taken apart.
func (f *SchemaFitter) Object(members *Members) { f.object(members, 0) }

func (f *SchemaFitter) object(members *Members, depth int) {
	for i := range *members {
		m := &(*members)[i]
		switch kind := f.Inside[m.Name]; {
		case kind == 's':
			f.schema(m, depth)
		case kind != 0 && byte(kind) == m.Value.Kind():
			for j := range m.Inside {
				f.schema(&m.Inside[j], depth)
			}
			m.Value = m.Inside.Join(kind)
		}
	}
	f.Fit(members)
}

func (f *SchemaFitter) schema(m *Member, depth int) {
	switch {
	case m.Value.Kind() == '{' && depth < maxSchema:
		f.object(&m.Inside, depth+1)
		m.Value = m.Inside.Join('{')
	case f.Instead != nil:
		m.Value, m.Inside = f.Instead, nil
	}
}

// AnyObject is a schema as it is given; that of any object where none is.
func AnyObject(given rawjson.Value) rawjson.Value {
	if len(given) == 0 {
		return rawjson.Value(`{"type":"object"}`)
	}
	return given
}

// NoArguments is the schema of a tool without arguments.
const NoArguments = `{"type":"object","properties":{}}`

var openAI = SchemaFitter{
	Inside: map[string]jsontext.Kind{
		"properties": '{', "patternProperties": '{', "$defs": '{', "definitions": '{',
		"anyOf": '[', "oneOf": '[', "allOf": '[', "prefixItems": '[',
		"items": 's', "additionalProperties": 's', "not": 's',
	},
	Fit: func(m *Members) {
		kind := m.Find("type")
		isList := func(k Member) bool { return string(k.Value) == `"array"` }
		if (isList(kind) || slices.ContainsFunc(kind.Inside, isList)) && m.Get("items") == nil {
			m.Set("items", rawjson.Value(`{}`))
		}
	},
}

// Schema is the schema of a tool as the APIs of OpenAI take it. They refuse the whole
// request for one tool whose arguments are not said to be an object with properties, that
// has alternatives at the outermost level, or that has a list without a type for its items.
// All of this is common among servers.
func Schema(given rawjson.Value) rawjson.Value {
	members, kind := Split(given)
	if kind != '{' {
		return rawjson.Value(NoArguments)
	}
	openAI.Object(&members)
	properties := members.object("properties")
	for _, name := range []string{"oneOf", "anyOf", "allOf"} {
		for _, one := range members.Find(name).Inside {
			for _, p := range one.Inside.object("properties") {
				if properties.Get(p.Name) == nil {
					properties = append(properties, p)
				}
			}
		}
	}
	members = slices.DeleteFunc(members, func(m Member) bool {
		return slices.Contains([]string{"oneOf", "anyOf", "allOf", "enum", "not"}, m.Name)
	})
	members.Set("type", rawjson.Value(`"object"`))
	members.Set("properties", properties.Join('{'))
	return members.Join('{')
}
