package schema

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/perstack-go/perstack/internal/wording"
)

// values checks enum and const.
func (w *walk) values(s *jsonschema.Schema, v any, path string) []string {
	if s.Const == nil && s.Enum == nil {
		return nil
	}
	weight := 1 + w.size/64 // steps for one comparison
	if text, ok := v.(string); ok {
		weight = 1 + len(text)/256
	}
	if !w.spend(weight * (1 + len(s.Enum))) {
		return nil
	}
	if s.Const != nil && !reflect.DeepEqual(*s.Const, v) {
		return []string{at(path) + "expected " + literal(*s.Const) + ", got " + sample(v)}
	}
	if s.Enum == nil || slices.ContainsFunc(s.Enum, func(e any) bool { return reflect.DeepEqual(e, v) }) {
		return nil
	}
	var allowed []string
	for _, e := range s.Enum[:min(len(s.Enum), 20)] {
		allowed = append(allowed, literal(e))
	}
	if len(s.Enum) > len(allowed) {
		allowed = append(allowed, "…")
	}
	return []string{at(path) + "expected one of " + strings.Join(allowed, ", ") + ", got " + sample(v)}
}

func (w *walk) text(s *jsonschema.Schema, v, path string) []string {
	w.spend(len(v) / 64)
	length := utf8.RuneCountInString(v)
	found := bounds(s.MinLength, s.MaxLength, length, "characters", path)
	if s.Pattern != "" && !w.matches(s.Pattern, v) {
		found = append(found, at(path)+"expected text that matches "+wording.Cut(s.Pattern, 200)+", got "+sample(v))
	}
	return found
}

// bounds checks a length.
func bounds(low, high *int, length int, unit, path string) (found []string) {
	if low != nil && length < *low {
		found = append(found, fmt.Sprintf("%sexpected at least %d %s, got %d", at(path), *low, unit, length))
	}
	if high != nil && length > *high {
		found = append(found, fmt.Sprintf("%sexpected at most %d %s, got %d", at(path), *high, unit, length))
	}
	return found
}

// matches reports whether text fits a regular expression. One that is not understood fits.
func (w *walk) matches(expression, text string) bool {
	p := w.pattern(expression)
	if p == nil {
		w.unsure++
		return true
	}
	return !w.spend(p.size*(1+len(text))/10) || p.MatchString(text)
}

func number(s *jsonschema.Schema, v float64, path string) []string {
	var found []string
	limit := func(bound *float64, broken func(bound float64) bool, words string) {
		if bound != nil && broken(*bound) {
			found = append(found, fmt.Sprintf("%sexpected a number %s %v, got %v", at(path), words, *bound, v))
		}
	}
	limit(s.Minimum, func(b float64) bool { return v < b }, "of at least")
	limit(s.Maximum, func(b float64) bool { return v > b }, "of at most")
	limit(s.ExclusiveMinimum, func(b float64) bool { return v <= b }, "above")
	limit(s.ExclusiveMaximum, func(b float64) bool { return v >= b }, "below")
	limit(s.MultipleOf, func(b float64) bool {
		n := v / b
		// 0.3 is a multiple of 0.1, although binary fractions disagree.
		return b > 0 && !math.IsInf(n, 0) && math.Abs(n-math.Round(n)) > 1e-9*max(1, math.Abs(n))
	}, "that is a multiple of")
	return found
}

func (w *walk) list(s *jsonschema.Schema, v []any, path string) []string {
	found := bounds(s.MinItems, s.MaxItems, len(v), "items", path)
	first, rest := s.PrefixItems, s.Items
	if s.ItemsArray != nil { // the keywords of draft-07
		first, rest = s.ItemsArray, s.AdditionalItems
	}
	for i, item := range v {
		each := rest
		if i < len(first) {
			each = first[i]
		}
		found = append(found, w.apply(each, item, path+"["+strconv.Itoa(i)+"]")...)
		if len(found) > 2*MaxProblems {
			break
		}
	}
	if s.UniqueItems {
		found = append(found, w.unique(v, path)...)
	}
	if s.Contains != nil && !w.contains(s, v) {
		found = append(found, at(path)+"does not contain what the schema asks for")
	}
	return found
}

func (w *walk) unique(v []any, path string) []string {
	seen := make(map[string]int)
	for i, item := range v {
		text, err := json.Marshal(item, json.Deterministic(true))
		if err != nil || !w.spend(1+len(text)/10) {
			return nil
		}
		if first, twice := seen[string(text)]; twice {
			return []string{fmt.Sprintf("%sexpected different items, but those at %d and %d are the same", at(path), first, i)}
		}
		seen[string(text)] = i
	}
	return nil
}

func (w *walk) contains(s *jsonschema.Schema, v []any) bool {
	count, least, unsure := 0, 1, w.unsure
	for _, item := range v {
		if len(w.apply(s.Contains, item, "")) == 0 {
			count++
		}
	}
	if s.MinContains != nil {
		least = *s.MinContains
	}
	return count >= least && (s.MaxContains == nil || count <= *s.MaxContains || w.unsure > unsure)
}

func (w *walk) object(s *jsonschema.Schema, v map[string]any, path string) []string {
	var found []string
	if !w.spend(len(v)) {
		return nil
	}
	missing := func(names []string, why string) {
		for _, name := range names {
			if _, ok := v[name]; !ok && w.spend(1) && len(found) <= 2*MaxProblems {
				found = append(found, at(path)+strconv.Quote(wording.Cut(name, 100))+typeOf(s.Properties[name])+" is missing"+why)
			}
		}
	}
	missing(s.Required, "")
	found = append(found, bounds(s.MinProperties, s.MaxProperties, len(v), "members", path)...)
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if !w.spend(1) || len(found) > 2*MaxProblems {
			return found
		}
		found = append(found, w.member(s, name, v[name], path)...)
		// Members that are needed with this one, in the keywords of both drafts.
		for _, needs := range []map[string][]string{s.DependentRequired, s.DependencyStrings} {
			missing(needs[name], ", which is needed with "+strconv.Quote(wording.Cut(name, 100)))
		}
		for _, applies := range []map[string]*jsonschema.Schema{s.DependentSchemas, s.DependencySchemas} {
			found = append(found, w.apply(applies[name], v, path)...)
		}
		if s.PropertyNames != nil && len(w.apply(s.PropertyNames, name, "")) > 0 {
			found = append(found, at(path)+strconv.Quote(wording.Cut(name, 100))+" is not a name that is allowed here")
		}
	}
	return found
}

func typeOf(s *jsonschema.Schema) string {
	if s == nil || s.Type == "" {
		return ""
	}
	return " (" + s.Type + ")"
}

// member applies to one member of an object what the schema has for it.
func (w *walk) member(s *jsonschema.Schema, name string, v any, path string) []string {
	p, known := s.Properties[name]
	below := w.below(path, name)
	w.spend(len(s.PatternProperties))
	found := w.apply(p, v, below)
	for _, expression := range slices.Sorted(maps.Keys(s.PatternProperties)) {
		if w.matches(expression, name) {
			known = true
			found = append(found, w.apply(s.PatternProperties[expression], v, below)...)
		}
	}
	switch {
	case known || s.AdditionalProperties == nil:
	case isFalse(s.AdditionalProperties):
		w.spend(len(s.Properties))
		found = append(found, at(path)+strconv.Quote(wording.Cut(name, 100))+" is unknown"+instead(s))
	default:
		found = append(found, w.apply(s.AdditionalProperties, v, below)...)
	}
	return found
}

func instead(s *jsonschema.Schema) string {
	names := slices.Sorted(maps.Keys(s.Properties))
	if len(names) == 0 || len(names) > 20 {
		return ""
	}
	return "; known are " + strings.Join(names, ", ")
}

// isFalse reports whether s is the schema "false", which the library represents as {"not": {}}.
func isFalse(s *jsonschema.Schema) bool {
	return s.Not != nil && reflect.ValueOf(s.Not).Elem().IsZero()
}
