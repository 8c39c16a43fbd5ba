package event

import (
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// members is a JSON object that came from a model or a tool, read without trust: a
// member that is missing or of another type than asked for counts as not there. It
// is only shown to people, so repeated names and bad UTF-8 are no reason to hide it.
type members map[string]jsontext.Value

var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// parseMembers returns nil for anything but a JSON object.
func parseMembers(data []byte) members {
	var m members
	if json.Unmarshal(data, &m, lenient) != nil {
		return nil
	}
	return m
}

// get returns the named member as a T, or nil.
func get[T any](m members, name string) *T {
	raw, ok := m[name]
	if !ok || raw.Kind() == 'n' {
		return nil
	}
	var v T
	if json.Unmarshal(raw, &v, lenient) != nil {
		return nil
	}
	return &v
}

// text returns the named string, or "".
func (m members) text(name string) string {
	if s := get[string](m, name); s != nil {
		return *s
	}
	return ""
}

// number returns the named number if it is a whole one.
func (m members) number(name string) *int64 {
	f := get[float64](m, name)
	if f == nil || *f != math.Trunc(*f) || math.Abs(*f) > 1<<53 {
		return nil
	}
	n := int64(*f)
	return &n
}

// list returns the elements of the named array; nil if there is none.
func (m members) list(name string) []jsontext.Value {
	if l := get[[]jsontext.Value](m, name); l != nil {
		return *l
	}
	return nil
}

// texts returns the strings in the named array; nil if there is no array.
func (m members) texts(name string) []string {
	list := m.list(name)
	if list == nil {
		return nil
	}
	texts := make([]string, 0, len(list))
	for _, raw := range list {
		if s := get[string](members{"": raw}, ""); s != nil {
			texts = append(texts, *s)
		}
	}
	return texts
}

// numbers returns the whole numbers in the named array; nil if there is no array.
func (m members) numbers(name string) []int64 {
	list := m.list(name)
	if list == nil {
		return nil
	}
	numbers := make([]int64, 0, len(list))
	for _, raw := range list {
		if n := (members{"": raw}).number(""); n != nil {
			numbers = append(numbers, *n)
		}
	}
	return numbers
}

// todos returns the named todo list; nil if there is no array. An entry without an
// id counts by its place.
func (m members) todos(name string) []TodoItem {
	list := m.list(name)
	if list == nil {
		return nil
	}
	todos := make([]TodoItem, len(list))
	for i, raw := range list {
		entry := parseMembers(raw)
		todos[i] = TodoItem{ID: int64(i), Title: entry.text("title")}
		if id := entry.number("id"); id != nil {
			todos[i].ID = *id
		}
		if done := get[bool](entry, "completed"); done != nil {
			todos[i].Completed = *done
		}
	}
	return todos
}
