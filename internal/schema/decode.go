package schema

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/rawjson"
)

// An Error says which argument of a call is wrong, in words for the model that made it.
type Error struct {
	Field   string // a path such as "env/PATH"; empty for the arguments as a whole
	Problem string
}

func (e *Error) Error() string {
	if e.Field == "" {
		return "invalid arguments: " + e.Problem
	}
	return fmt.Sprintf("invalid arguments: %q %s", wording.Cut(e.Field, 100), e.Problem)
}

// Decode reads the arguments of a call; no arguments at all count as {}. Names are matched
// exactly, and unknown or repeated ones are refused: a misspelt "timeout" must not mean "no
// timeout". An argument that is null counts as left out. Inside a list or a map null is
// refused, since it would be taken for 0 or "".
func (a *Args[T]) Decode(args []byte) (T, error) {
	var out T
	given := rawjson.Value(args)
	if len(given) == 0 || given.Kind() == 'n' {
		given = rawjson.Value("{}")
	}
	if given.Kind() != '{' {
		return out, &Error{"", "expected a JSON object"}
	}
	if bytes.Contains(given, []byte("null")) {
		given = withoutNull(a.root, given)
	}
	if err := json.Unmarshal(given, &out, json.RejectUnknownMembers(true),
		json.WithUnmarshalers(json.UnmarshalFromFunc(refuseNull))); err != nil {
		return out, explain(err)
	}
	var value any
	if err := json.Unmarshal(given, &value); err != nil {
		return out, explain(err)
	}
	return out, unmet(a.root, value, "")
}

// withoutNull leaves out the arguments that are null, including those of structs in
// arguments. What it cannot read it returns as it is.
func withoutNull(s *jsonschema.Schema, v rawjson.Value) rawjson.Value {
	var changed []byte
	var err error
	switch v.Kind() {
	case '{':
		var members map[string]rawjson.Value
		if err := json.Unmarshal(v, &members); err != nil {
			return v
		}
		for name, member := range members {
			switch p := s.Properties[name]; {
			case p == nil:
			case member.Kind() == 'n':
				delete(members, name)
			default:
				members[name] = withoutNull(p, member)
			}
		}
		changed, err = json.Marshal(members, json.Deterministic(true))
	case '[':
		var items []rawjson.Value
		if err := json.Unmarshal(v, &items); err != nil || s.Items == nil {
			return v
		}
		for i, item := range items {
			items[i] = withoutNull(s.Items, item)
		}
		changed, err = json.Marshal(items)
	default:
		return v
	}
	if err != nil {
		return v
	}
	return changed
}

// refuseNull refuses null for everything that would silently become its zero value.
func refuseNull(dec *jsontext.Decoder, into any) error {
	if _, free := into.(*any); free || dec.PeekKind() != 'n' {
		return errors.ErrUnsupported
	}
	return nullError{reflect.TypeOf(into)}
}

type nullError struct{ wanted reflect.Type }

func (nullError) Error() string { return "null" }

// explain turns an error of the JSON library into one for a model.
func explain(err error) error {
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		field := strings.TrimPrefix(string(semantic.JSONPointer), "/")
		if errors.Is(err, json.ErrUnknownName) {
			return &Error{field, "is not an argument of this tool"}
		}
		wanted := semantic.GoType
		if null, ok := errors.AsType[nullError](err); ok {
			wanted = null.wanted
		}
		return &Error{field, "must be " + kindOf(wanted)}
	}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok && errors.Is(err, jsontext.ErrDuplicateName) {
		return &Error{strings.TrimPrefix(string(syntactic.JSONPointer), "/"), "is given twice"}
	}
	return &Error{"", "not valid JSON"}
}

// kindOf names a Go type in the words of JSON.
func kindOf(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return "of another type"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an integer"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "of another type"
}
