package base

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// An argumentError says which argument is wrong, so that a model can mend its call.
type argumentError struct {
	field, problem string
}

func (e *argumentError) Error() string {
	if e.field == "" {
		return "invalid arguments: " + e.problem
	}
	return fmt.Sprintf("invalid arguments: %q %s", e.field, e.problem)
}

func wrong(field, problem string) error { return &argumentError{field, problem} }

// decode reads the arguments of a call into a struct whose required fields are
// pointers. Names are matched exactly, unknown and repeated ones are refused: a
// misspelt "timeout" must not mean "no timeout". null counts as absent; inside a list
// it is wrong, since it would be taken for 0 or "".
func decode[T any](args jsontext.Value) (T, error) {
	var out T
	if len(args) == 0 || args.Kind() == 'n' {
		args = jsontext.Value("{}")
	}
	if args.Kind() != '{' {
		return out, wrong("", "expected a JSON object")
	}
	err := json.Unmarshal(args, &out, json.RejectUnknownMembers(true), json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(notNull[string]),
		json.UnmarshalFromFunc(notNull[float64]),
	)))
	if err == nil {
		return out, nil
	}
	var semantic *json.SemanticError
	if errors.As(err, &semantic) {
		field := clip(strings.TrimPrefix(string(semantic.JSONPointer), "/"), 100)
		if errors.Is(err, json.ErrUnknownName) {
			return out, wrong(field, "is not an argument of this tool")
		}
		return out, wrong(field, "must be "+kindOf(semantic.GoType))
	}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) && errors.Is(err, jsontext.ErrDuplicateName) {
		return out, wrong(clip(strings.TrimPrefix(string(syntactic.JSONPointer), "/"), 100), "is given twice")
	}
	return out, wrong("", "not valid JSON")
}

func notNull[T any](dec *jsontext.Decoder, _ *T) error {
	if dec.PeekKind() == 'n' {
		return errors.New("null")
	}
	return errors.ErrUnsupported
}

// kindOf names a type in the words of JSON.
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
	case reflect.Int, reflect.Int64:
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "of another type"
}

// required returns the value of an argument that must be there.
func required[T any](field string, value *T) (T, error) {
	if value == nil {
		var zero T
		return zero, wrong(field, "is required")
	}
	return *value, nil
}

// pathOnly reads the arguments of a tool that takes a path and nothing else.
func pathOnly(args jsontext.Value) (string, error) {
	decoded, err := decode[struct {
		Path *string `json:"path"`
	}](args)
	if err != nil {
		return "", err
	}
	return required("path", decoded.Path)
}

// natural returns the value of an optional count.
func natural(field string, value *int64, fallback int64) (int64, error) {
	if value == nil {
		return fallback, nil
	}
	if *value < 0 {
		return 0, wrong(field, "must not be negative")
	}
	return *value, nil
}

// clip shortens text to n bytes, at a character boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
