package narrate

import (
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/rawjson"
)

// members is a JSON object that came from a model or a tool, read without trust: a
// member that is missing or has another type than expected counts as absent. It is only
// shown to people, so repeated names and bad UTF-8 are no reason to hide it.
type members map[string]rawjson.Value

var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// parse returns nil for anything but a JSON object.
func parse(data []byte) members {
	var m members
	if json.Unmarshal(data, &m, lenient) != nil {
		return nil
	}
	return m
}

// get returns the named member, or the zero value.
func get[T any](m members, name string) T {
	v, _ := decode[T](m[name])
	return v
}

func decode[T any](raw rawjson.Value) (T, bool) {
	var v, zero T
	if len(raw) == 0 || raw.Kind() == 'n' || json.Unmarshal(raw, &v, lenient) != nil {
		return zero, false
	}
	return v, true
}

func (m members) text(name string) string { return get[string](m, name) }

// texts returns the strings in the named array.
func (m members) texts(name string) []string {
	var texts []string
	for _, raw := range get[[]rawjson.Value](m, name) {
		if s, ok := decode[string](raw); ok {
			texts = append(texts, s)
		}
	}
	return texts
}

// whole reads a whole number.
func whole(raw rawjson.Value) (int64, bool) {
	f, ok := decode[float64](raw)
	if !ok || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}
