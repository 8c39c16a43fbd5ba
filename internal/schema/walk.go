package schema

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/perstack-go/perstack/internal/wording"
)

const (
	// MaxProblems is how many problems are worth telling about one call.
	MaxProblems = 20
	// maxSteps is what one check may cost: some tens of milliseconds.
	maxSteps = 1_000_000
	// maxNesting bounds how many schemas may be applied inside each other.
	maxNesting = 500
)

// A walk applies a schema to a value.
type walk struct {
	*Schema
	size    int // of all arguments, in bytes
	steps   int
	nesting int
	lost    bool // the budget is used up: there is no verdict
	unsure  int  // keywords so far that counted as fulfilled because they are not understood
}

// Problems lists what is wrong with the arguments of a call, one sentence each. The list is
// empty when they fit, and when that cannot be decided within the budget. A sentence can
// quote the schema.
func (s *Schema) Problems(args []byte) (found []string) {
	defer func() {
		if recover() != nil { // a schema that makes the check panic must not end a run
			found = nil
		}
	}()
	var value any = map[string]any{}
	if len(args) > 0 {
		if err := json.Unmarshal(args, &value); err != nil {
			return []string{"the arguments are not valid JSON"}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &walk{Schema: s, size: len(args)}
	found = w.apply(s.root, value, "")
	if w.lost {
		return nil
	}
	seen := make(map[string]bool) // two parts of a schema can say the same
	return slices.DeleteFunc(found, func(p string) bool {
		again := seen[p]
		seen[p] = true
		return again
	})
}

// spend takes n steps from the budget and reports whether any are left.
func (w *walk) spend(n int) bool {
	w.steps += n
	w.lost = w.lost || w.steps > maxSteps
	return !w.lost
}

// apply lists what is wrong with v, the value at path, according to s.
func (w *walk) apply(s *jsonschema.Schema, v any, path string) []string {
	if s == nil || !w.spend(1) {
		return nil
	}
	if w.nesting >= maxNesting {
		w.lost = true
		return nil
	}
	w.nesting++
	defer func() { w.nesting-- }()

	var found []string
	if s.DynamicRef != "" || s.UnevaluatedProperties != nil || s.UnevaluatedItems != nil {
		w.unsure++
	}
	if s.Ref != "" {
		target := w.refer(s.Ref)
		if target == nil {
			w.unsure++
		}
		found = w.apply(target, v, path)
		if w.oldRef {
			return found
		}
	}
	if p, wrong := wrongType(s, v); wrong {
		return append(found, at(path)+p) // the other keywords would only repeat it
	}
	found = append(found, w.values(s, v, path)...)
	switch v := v.(type) {
	case string:
		found = append(found, w.text(s, v, path)...)
	case float64:
		found = append(found, number(s, v, path)...)
	case []any:
		found = append(found, w.list(s, v, path)...)
	case map[string]any:
		found = append(found, w.object(s, v, path)...)
	}
	return append(found, w.choices(s, v, path)...)
}

// at returns how a problem at path begins.
func at(path string) string {
	if path == "" {
		return "the arguments: "
	}
	return wording.Cut(path, 200) + ": "
}

// below extends a path. Copying costs steps, since names can be long.
func (w *walk) below(path, name string) string {
	w.spend((len(path) + len(name)) / 16)
	if path == "" {
		return name
	}
	return path + "." + name
}

func wrongType(s *jsonschema.Schema, v any) (string, bool) {
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	if len(types) == 0 || slices.ContainsFunc(types, func(t string) bool { return isType(t, v) }) {
		return "", false
	}
	return "expected " + strings.Join(types, " or ") + ", got " + sample(v), true
}

func isType(name string, v any) bool {
	f, isNumber := v.(float64)
	switch name {
	case "integer":
		return isNumber && f == math.Trunc(f)
	case "null", "boolean", "string", "number", "array", "object":
		return name == typeName(v)
	}
	return true // not a type of JSON Schema
}

// typeName is the type of a decoded value, in the words of JSON Schema.
func typeName(v any) string {
	switch v.(type) {
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "null"
}

// sample shows a value, with its type.
func sample(v any) string {
	if v == nil {
		return "null"
	}
	return typeName(v) + " " + literal(v)
}

// literal writes a value as JSON, shortened. Of lists and objects it tells only the size:
// they can be large, and are mentioned often.
func literal(v any) string {
	switch all := v.(type) {
	case string:
		v = wording.Cut(all, 80)
	case []any:
		return fmt.Sprintf("of %d items", len(all))
	case map[string]any:
		return fmt.Sprintf("of %d members", len(all))
	}
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return "?"
	}
	return string(text)
}

// choices checks the keywords that combine schemas. Where a schema must not be fulfilled,
// a keyword in it that is not understood leaves the question open.
func (w *walk) choices(s *jsonschema.Schema, v any, path string) []string {
	var found []string
	for _, each := range s.AllOf {
		found = append(found, w.apply(each, v, path)...)
		if len(found) > 2*MaxProblems {
			return found
		}
	}
	const none = "fits none of the forms that are allowed here; the nearest: "
	if s.AnyOf != nil {
		if n, nearest := w.fitting(s.AnyOf, v, path); n == 0 {
			found = append(found, at(path)+none+nearest)
		}
	}
	if s.OneOf != nil {
		unsure := w.unsure
		switch n, nearest := w.fitting(s.OneOf, v, path); {
		case n == 0:
			found = append(found, at(path)+none+nearest)
		case n > 1 && w.unsure == unsure:
			found = append(found, fmt.Sprintf("%sfits %d forms of which only one is allowed", at(path), n))
		}
	}
	if s.Not != nil && w.fulfils(s.Not, v) == yes {
		found = append(found, at(path)+"is not allowed: "+sample(v))
	}
	if s.If != nil {
		switch w.fulfils(s.If, v) {
		case yes:
			found = append(found, w.apply(s.Then, v, path)...)
		case no:
			found = append(found, w.apply(s.Else, v, path)...)
		}
	}
	return found
}

type verdict int

const (
	perhaps verdict = iota
	yes
	no
)

func (w *walk) fulfils(s *jsonschema.Schema, v any) verdict {
	unsure := w.unsure
	switch {
	case len(w.apply(s, v, "")) > 0:
		return no
	case w.unsure > unsure:
		return perhaps
	}
	return yes
}

// fitting counts the schemas that v fulfils. If there are none, nearest is a problem of the
// schema with the fewest problems.
func (w *walk) fitting(all []*jsonschema.Schema, v any, path string) (count int, nearest string) {
	fewest := math.MaxInt
	for _, each := range all {
		found := w.apply(each, v, path)
		switch {
		case len(found) == 0:
			count++
		case len(found) < fewest:
			fewest, nearest = len(found), found[0]
		}
	}
	return count, wording.Cut(nearest, 300)
}
