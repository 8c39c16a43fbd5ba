package manifest

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/toml"
)

// validator checks values against the part of draft-07 that JSONSchema uses. It
// knows no other keyword, so that a new one cannot be added without being tested.
type validator struct {
	t       *testing.T
	root    map[string]any
	regexps map[string]*regexp.Regexp
}

func newValidator(t *testing.T) *validator {
	t.Helper()
	v := &validator{t: t, regexps: map[string]*regexp.Regexp{}}
	if err := json.Unmarshal(JSONSchema(), &v.root); err != nil {
		t.Fatal(err)
	}
	return v
}

// file returns the paths at which a file breaks the schema, as problems name them.
func (v *validator) file(doc map[string]any) []string {
	return slices.Compact(slices.Sorted(slices.Values(v.check(v.root, "", doc))))
}

// anything is a value that every schema accepts, for questions about its key.
type anything struct{}

func (v *validator) check(schema map[string]any, path string, value any) (wrong []string) {
	if value == (any)(anything{}) {
		return nil
	}
	fail := func(bad bool) {
		if bad {
			wrong = append(wrong, path)
		}
	}
	holds := func(s any) bool { return len(v.check(s.(map[string]any), path, value)) == 0 }
	size := func(word string) int { return int(schema[word].(float64)) }
	text, isText := value.(string)
	list, isList := value.([]any)
	object, isObject := value.(map[string]any)
	number, isNumber := value.(float64)
	if whole, ok := value.(int64); ok {
		number, isNumber = float64(whole), true // no bound is beyond what a float holds
	}
	for word, arg := range schema {
		switch word {
		case "$schema", "title", "description", "default", "x-taplo", "then":
		case "type":
			fail(!hasType(value, arg.(string)))
		case "const":
			fail(value != arg)
		case "enum":
			fail(!slices.ContainsFunc(arg.([]any), func(e any) bool { return isText && e == text }))
		case "minimum":
			fail(isNumber && number < arg.(float64))
		case "exclusiveMinimum":
			fail(isNumber && number <= arg.(float64))
		case "maximum":
			fail(isNumber && number > arg.(float64))
		case "minLength":
			fail(isText && utf8.RuneCountInString(text) < size(word))
		case "maxLength":
			fail(isText && utf8.RuneCountInString(text) > size(word))
		case "pattern":
			fail(isText && !v.regexp(arg.(string)).MatchString(text))
		case "minItems":
			fail(isList && len(list) < size(word))
		case "maxItems":
			fail(isList && len(list) > size(word))
		case "items":
			for i, item := range list {
				wrong = append(wrong, v.check(arg.(map[string]any), toml.PathTo(path, strconv.Itoa(i)), item)...)
			}
		case "maxProperties":
			fail(isObject && len(object) > size(word))
		case "properties":
			for key, s := range arg.(map[string]any) {
				if member, ok := object[key]; ok {
					wrong = append(wrong, v.check(s.(map[string]any), toml.PathTo(path, key), member)...)
				}
			}
		case "propertyNames":
			for key := range object {
				wrong = append(wrong, v.check(arg.(map[string]any), toml.PathTo(path, key), key)...)
			}
		case "additionalProperties":
			known, _ := schema["properties"].(map[string]any)
			for key, member := range object {
				if _, ok := known[key]; ok {
					continue
				}
				if s, ok := arg.(map[string]any); ok {
					wrong = append(wrong, v.check(s, toml.PathTo(path, key), member)...)
				} else {
					wrong = append(wrong, toml.PathTo(path, key))
				}
			}
		case "required":
			for _, key := range arg.([]any) {
				if _, ok := object[key.(string)]; isObject && !ok {
					wrong = append(wrong, toml.PathTo(path, key.(string)))
				}
			}
		case "anyOf":
			fail(!slices.ContainsFunc(arg.([]any), holds))
		case "allOf":
			for _, s := range arg.([]any) {
				wrong = append(wrong, v.check(s.(map[string]any), path, value)...)
			}
		case "not":
			fail(holds(arg))
		case "if":
			if holds(arg) {
				wrong = append(wrong, v.check(schema["then"].(map[string]any), path, value)...)
			}
		default:
			v.t.Fatalf("%s: the schema uses %q, which this validator does not know", path, word)
		}
	}
	return wrong
}

func hasType(value any, name string) bool {
	switch value := value.(type) {
	case string:
		return name == "string"
	case int64:
		return name == "integer" || name == "number"
	case float64:
		if name == "number" {
			return !math.IsNaN(value) && !math.IsInf(value, 0) // JSON has neither
		}
		return name == "integer" && value == float64(int64(value)) // so says the standard
	case bool:
		return name == "boolean"
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	}
	return false // a date
}

func (v *validator) regexp(expression string) *regexp.Regexp {
	if v.regexps[expression] == nil {
		v.regexps[expression] = regexp.MustCompile(expression)
	}
	return v.regexps[expression]
}

// eachTable calls visit for each table of doc that has a closed list of keys, with
// the schema that describes it.
func eachTable(schema map[string]any, path string, value any, visit func(path string, schema, value map[string]any)) {
	for i, item := range asList(value) {
		eachTable(asObject(schema["items"]), toml.PathTo(path, strconv.Itoa(i)), item, visit)
	}
	object, known := asObject(value), asObject(schema["properties"])
	if object != nil && schema["additionalProperties"] == false {
		visit(path, schema, object)
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		s := known[key]
		if s == nil {
			s = schema["additionalProperties"]
		}
		eachTable(asObject(s), toml.PathTo(path, key), object[key], visit)
	}
}

func asObject(v any) map[string]any { o, _ := v.(map[string]any); return o }
func asList(v any) []any            { l, _ := v.([]any); return l }
