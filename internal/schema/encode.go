package schema

import (
	"bytes"
	"errors"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// encode writes a schema as its MarshalJSON does, in a fraction of the time: every run
// describes all base tools before its first request.
func encode(s *jsonschema.Schema) ([]byte, error) {
	var text bytes.Buffer
	w := &writer{out: jsontext.NewEncoder(&text, jsontext.AllowDuplicateNames(true), jsontext.EscapeForHTML(true), jsontext.EscapeForJS(true))}
	if w.schema(s); w.err != nil {
		return s.MarshalJSON()
	}
	return bytes.TrimSpace(text.Bytes()), nil
}

// A writer writes schemas with keywords that are derived from Go types. Others are an error.
type writer struct {
	out *jsontext.Encoder
	err error // the first
}

func (w *writer) token(t jsontext.Token) {
	if w.err == nil {
		w.err = w.out.WriteToken(t)
	}
}

func (w *writer) text(s string) { w.token(jsontext.String(s)) }

func (w *writer) member(name string, present bool, value jsontext.Token) {
	if present {
		w.text(name)
		w.token(value)
	}
}

func (w *writer) inner(name string, s *jsonschema.Schema) {
	if s != nil {
		w.text(name)
		w.schema(s)
	}
}

func (w *writer) schema(s *jsonschema.Schema) {
	others := *s
	others.Type, others.Properties, others.PropertyOrder, others.Items, others.Description = "", nil, nil, nil, ""
	others.Minimum, others.Maximum, others.MinLength, others.Required = nil, nil, nil, nil
	others.AdditionalProperties, others.ContentEncoding = nil, ""
	switch {
	case isZero(s):
		w.token(jsontext.True)
		return
	case s.Not != nil && reflect.DeepEqual(s, &jsonschema.Schema{Not: &jsonschema.Schema{}}):
		w.token(jsontext.False)
		return
	case !isZero(&others) || len(s.PropertyOrder) != len(s.Properties):
		w.err = errors.ErrUnsupported
		return
	}
	w.token(jsontext.BeginObject)
	w.member("type", s.Type != "", jsontext.String(s.Type))
	if s.Properties != nil {
		w.member("properties", true, jsontext.BeginObject)
		for _, name := range s.PropertyOrder {
			w.inner(name, s.Properties[name])
		}
		w.token(jsontext.EndObject)
	}
	w.inner("items", s.Items)
	w.member("description", s.Description != "", jsontext.String(s.Description))
	if s.Minimum != nil {
		w.member("minimum", true, jsontext.Float(*s.Minimum))
	}
	if s.Maximum != nil {
		w.member("maximum", true, jsontext.Float(*s.Maximum))
	}
	if s.MinLength != nil {
		w.member("minLength", true, jsontext.Int(int64(*s.MinLength)))
	}
	if len(s.Required) > 0 {
		w.member("required", true, jsontext.BeginArray)
		for _, name := range s.Required {
			w.text(name)
		}
		w.token(jsontext.EndArray)
	}
	w.inner("additionalProperties", s.AdditionalProperties)
	w.member("contentEncoding", s.ContentEncoding != "", jsontext.String(s.ContentEncoding))
	w.token(jsontext.EndObject)
}

func isZero(s *jsonschema.Schema) bool { return reflect.ValueOf(s).Elem().IsZero() }
