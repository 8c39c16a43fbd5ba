package wire

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/rawjson"
)

// Schema is the schema of a tool as the APIs of OpenAI take it. They refuse the whole
// request for one tool whose arguments are not said to be an object with properties, that
// has alternatives at the outermost level, or that has a list without a type for its items. All of
// this is common among servers. What can be sent as it is, is.
func Schema(given rawjson.Value) rawjson.Value {
	var s map[string]rawjson.Value
	if given.Kind() != '{' || Decode(given, &s) != nil {
		return rawjson.Value(`{"type":"object","properties":{}}`)
	}
	changed := withItems(s)
	for _, name := range []string{"oneOf", "anyOf", "allOf"} {
		var all []map[string]rawjson.Value
		if raw, ok := s[name]; ok {
			_ = json.Unmarshal(raw, &all) // what is no list of schemas says nothing
			for _, one := range all {
				adopt(s, one["properties"])
			}
			delete(s, name)
			changed = true
		}
	}
	for _, name := range []string{"enum", "not"} {
		if _, ok := s[name]; ok {
			delete(s, name)
			changed = true
		}
	}
	if string(s["type"]) != `"object"` {
		s["type"], changed = rawjson.Value(`"object"`), true
	}
	if s["properties"].Kind() != '{' {
		s["properties"], changed = rawjson.Value(`{}`), true
	}
	if !changed {
		return given
	}
	return write(s)
}

// adopt adds the properties of an alternative.
func adopt(s map[string]rawjson.Value, properties rawjson.Value) {
	var own, more map[string]rawjson.Value
	if json.Unmarshal(properties, &more) != nil || len(more) == 0 {
		return
	}
	if json.Unmarshal(s["properties"], &own) != nil || own == nil {
		own = map[string]rawjson.Value{}
	}
	for name, value := range more {
		if _, ok := own[name]; !ok {
			own[name] = value
		}
	}
	s["properties"] = write(own)
}

// withItems gives every list inside a schema something that it holds.
func withItems(s map[string]rawjson.Value) (changed bool) {
	if _, ok := s["items"]; !ok && isList(s["type"]) {
		s["items"], changed = rawjson.Value(`{}`), true
	}
	for name, raw := range s {
		var fixed rawjson.Value
		switch name {
		case "properties", "patternProperties", "$defs", "definitions":
			fixed = each[map[string]rawjson.Value](raw)
		case "anyOf", "oneOf", "allOf", "prefixItems":
			fixed = each[[]rawjson.Value](raw)
		case "items", "additionalProperties", "not":
			fixed = fixItems(raw)
		}
		if fixed != nil {
			s[name], changed = fixed, true
		}
	}
	return changed
}

// isList reports whether a type is a list, or may be one.
func isList(kind rawjson.Value) bool {
	var kinds []string
	if json.Unmarshal(kind, &kinds) != nil {
		return string(kind) == `"array"`
	}
	for _, k := range kinds {
		if k == "array" {
			return true
		}
	}
	return false
}

// fixItems returns a schema with items, or nil if it needs none.
func fixItems(raw rawjson.Value) rawjson.Value {
	var s map[string]rawjson.Value
	if raw.Kind() != '{' || json.Unmarshal(raw, &s) != nil || !withItems(s) {
		return nil
	}
	return write(s)
}

// each returns schemas with items, or nil if none of them needs any.
func each[T map[string]rawjson.Value | []rawjson.Value](raw rawjson.Value) rawjson.Value {
	var all T
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	changed := false
	fix := func(one rawjson.Value) rawjson.Value {
		if fixed := fixItems(one); fixed != nil {
			changed = true
			return fixed
		}
		return one
	}
	switch all := any(all).(type) {
	case map[string]rawjson.Value:
		for name := range all {
			all[name] = fix(all[name])
		}
	case []rawjson.Value:
		for i := range all {
			all[i] = fix(all[i])
		}
	}
	if !changed {
		return nil
	}
	return write(all)
}

// write writes what was read before.
func write(v any) rawjson.Value {
	text, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return rawjson.Value(`{}`)
	}
	return text
}
