package schema

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/perstack-go/perstack/rawjson"
)

// Args are the arguments of a tool as a Go struct: its JSON Schema, and the decoder.
type Args[T any] struct {
	root *jsonschema.Schema
	text []byte
}

// For derives the schema of the struct T. Fields have the names of their json tags, and the
// tag jsonschema describes them for the model. A field is optional if its json tag has
// omitempty or omitzero. The tags minimum, maximum and minLength set the limits of the same
// names.
func For[T any]() (*Args[T], error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("the arguments of a tool are a struct, not %s", t)
	}
	root, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[[]byte]():        {Type: "string", ContentEncoding: "base64"},
		reflect.TypeFor[rawjson.Value](): {}, // any value
	}})
	if err != nil {
		return nil, err
	}
	if err := refine(t, root); err != nil {
		return nil, err
	}
	text, err := root.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if root.Properties == nil { // some providers insist on the keyword
		text = []byte(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	return &Args[T]{root, text}, nil
}

// JSON returns the schema. The caller must not change it.
func (a *Args[T]) JSON() []byte { return a.text }

// refine adds the limits of the tags. It removes "null", which the library adds to pointers
// and slices: to leave an argument out is enough, and models take the offer of null for one
// that they should use.
func refine(t reflect.Type, s *jsonschema.Schema) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return errors.New("time.Duration has no JSON form; use a number, and say the unit in its name")
	case s.Items != nil:
		return refine(t.Elem(), s.Items)
	case t.Kind() == reflect.Map:
		return refine(t.Elem(), s.AdditionalProperties)
	case t.Kind() != reflect.Struct:
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		p := s.Properties[name]
		if p == nil || f.Anonymous {
			continue
		}
		if err := errors.Join(refine(f.Type, p), limit(f.Tag, p)); err != nil {
			return fmt.Errorf("field %s of %s: %w", f.Name, t, err)
		}
	}
	return nil
}

// limit puts the limits of a field's tag into the schema of the field.
func limit(tag reflect.StructTag, s *jsonschema.Schema) error {
	for key, set := range map[string]func(float64){
		"minimum":   func(n float64) { s.Minimum = &n },
		"maximum":   func(n float64) { s.Maximum = &n },
		"minLength": func(n float64) { s.MinLength = new(int(n)) },
	} {
		text, ok := tag.Lookup(key)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("tag %s: %w", key, err)
		}
		set(n)
	}
	return nil
}

// unmet returns the first argument that is missing or breaks a limit, and what is wrong with
// it. v was decoded from JSON that has the types of s.
func unmet(s *jsonschema.Schema, v any, path string) error {
	if s == nil {
		return nil // part of a value of any type
	}
	switch v := v.(type) {
	case string:
		if s.MinLength != nil && utf8.RuneCountInString(v) < *s.MinLength {
			if *s.MinLength == 1 {
				return &Error{path, "must not be empty"}
			}
			return &Error{path, fmt.Sprintf("must have at least %d characters", *s.MinLength)}
		}
	case float64:
		return outOfRange(s, v, path)
	case []any:
		for i, item := range v {
			if err := unmet(s.Items, item, join(path, strconv.Itoa(i))); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				return &Error{join(path, name), "is required"}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below := s.AdditionalProperties
			if p := s.Properties[name]; p != nil {
				below = p
			}
			if err := unmet(below, v[name], join(path, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

func outOfRange(s *jsonschema.Schema, n float64, path string) error {
	low, high := s.Minimum != nil && n < *s.Minimum, s.Maximum != nil && n > *s.Maximum
	switch {
	case !low && !high:
		return nil
	case s.Minimum != nil && s.Maximum != nil:
		return &Error{path, fmt.Sprintf("must be between %v and %v", *s.Minimum, *s.Maximum)}
	case low && *s.Minimum == 0:
		return &Error{path, "must not be negative"}
	case low:
		return &Error{path, fmt.Sprintf("must be at least %v", *s.Minimum)}
	}
	return &Error{path, fmt.Sprintf("must be at most %v", *s.Maximum)}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}
