package schema

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// encode writes a schema as its MarshalJSON does, in a fraction of the time: every run
// describes all base tools before its first request.
func encode(s *jsonschema.Schema) ([]byte, error) {
	if text, ok := appendSchema(nil, s); ok {
		return text, nil
	}
	return s.MarshalJSON()
}

// appendSchema knows the keywords that are derived from Go types. For a schema with others
// ok is false.
func appendSchema(text []byte, s *jsonschema.Schema) (_ []byte, ok bool) {
	switch {
	case reflect.ValueOf(s).Elem().IsZero():
		return append(text, "true"...), true
	case s.Not != nil:
		return append(text, "false"...), reflect.DeepEqual(s, &jsonschema.Schema{Not: &jsonschema.Schema{}})
	case !derived(s):
		return nil, false
	}
	begin := len(text)
	member := func(name string) {
		if len(text) > begin {
			text = append(text, ',')
		}
		text = append(appendString(text, name), ':')
	}
	inner := func(name string, s *jsonschema.Schema) bool {
		member(name)
		text, ok = appendSchema(text, s)
		return ok
	}
	text = append(text, '{')
	begin++
	if s.Type != "" {
		member("type")
		text = appendString(text, s.Type)
	}
	if s.Properties != nil {
		member("properties")
		text = append(text, '{')
		outer := begin
		begin = len(text)
		for _, name := range s.PropertyOrder {
			if !inner(name, s.Properties[name]) {
				return nil, false
			}
		}
		text, begin = append(text, '}'), outer
	}
	if s.Items != nil && !inner("items", s.Items) {
		return nil, false
	}
	if s.Description != "" {
		member("description")
		text = appendString(text, s.Description)
	}
	for _, limit := range []struct {
		name  string
		value *float64
	}{{"minimum", s.Minimum}, {"maximum", s.Maximum}} {
		if limit.value != nil {
			member(limit.name)
			text = strconv.AppendInt(text, int64(*limit.value), 10)
		}
	}
	if s.MinLength != nil {
		member("minLength")
		text = strconv.AppendInt(text, int64(*s.MinLength), 10)
	}
	if len(s.Required) > 0 {
		member("required")
		for i, name := range s.Required {
			text = appendString(append(text, "[,"[min(i, 1)]), name)
		}
		text = append(text, ']')
	}
	if s.AdditionalProperties != nil && !inner("additionalProperties", s.AdditionalProperties) {
		return nil, false
	}
	if s.ContentEncoding != "" {
		member("contentEncoding")
		text = appendString(text, s.ContentEncoding)
	}
	return append(text, '}'), true
}

// derived reports whether all that a schema says is written by [appendSchema].
func derived(s *jsonschema.Schema) bool {
	for _, n := range []*float64{s.Minimum, s.Maximum} {
		if n != nil && *n != float64(int64(*n)) {
			return false
		}
	}
	rest := *s
	rest.Type, rest.Properties, rest.PropertyOrder, rest.Items, rest.Description = "", nil, nil, nil, ""
	rest.Minimum, rest.Maximum, rest.MinLength, rest.Required, rest.AdditionalProperties, rest.ContentEncoding = nil, nil, nil, nil, nil, ""
	return reflect.ValueOf(&rest).Elem().IsZero() && len(s.PropertyOrder) == len(s.Properties) &&
		plain(s.Type, s.Description, s.ContentEncoding) && plain(s.PropertyOrder...) && plain(s.Required...)
}

// appendString writes a string that [plain] has seen.
func appendString(text []byte, s string) []byte {
	quoted, _ := jsontext.AppendQuote(text, s)
	return quoted
}

// plain reports whether texts are written alike everywhere: some encoders escape what could
// end a script in a page.
func plain(texts ...string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return strings.ContainsAny(s, "<>&\u2028\u2029") || !utf8.ValidString(s) })
}
