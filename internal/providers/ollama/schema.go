package ollama

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/rawjson"
)

// maxSchema is how deep a schema is looked at; below that it says nothing more.
const maxSchema = 50

// A member is one of an object, in its place.
type member struct {
	name  string
	value rawjson.Value
}

// split takes an object apart.
func split(object rawjson.Value) (members []member, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	if start, err := dec.ReadToken(); err != nil || start.Kind() != '{' {
		return nil, false
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		key := name.String() // the token is gone after the next read
		value, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		members = append(members, member{name: key, value: rawjson.Value(value.Clone())})
	}
	return members, true
}

func join(members []member) rawjson.Value {
	text := []byte("{")
	for i, m := range members {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, wire.Quote(m.name)...), ':'), m.value...)
	}
	return append(text, '}')
}

// elements takes a list apart.
func elements(list rawjson.Value) (all []rawjson.Value, ok bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(list))
	if start, err := dec.ReadToken(); err != nil || start.Kind() != '[' {
		return nil, false
	}
	for dec.PeekKind() != ']' {
		v, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		all = append(all, rawjson.Value(v.Clone()))
	}
	return all, true
}

// fit makes a schema one that the server can read. true and false, which are schemas too,
// become one that says nothing.
func fit(schema rawjson.Value, depth int) (fitting rawjson.Value, changed bool) {
	members, ok := split(schema)
	if !ok || depth > maxSchema {
		return rawjson.Value(`{}`), true
	}
	if members, changed = fitMembers(members, depth); !changed {
		return schema, false
	}
	return join(members), true
}

// fitMembers looks at the members that the server has types for, and leaves all others
// alone. What does not fit is dropped.
func fitMembers(members []member, depth int) (fitting []member, changed bool) {
	for _, m := range members {
		fits, did := true, false
		switch m.name {
		case "type":
			fits = m.value.Kind() == '"' || isTexts(m.value)
		case "description":
			fits = m.value.Kind() == '"'
		case "required":
			fits = isTexts(m.value)
		case "enum":
			fits = m.value.Kind() == '['
		case "anyOf":
			m.value, did, fits = fitList(m.value, depth)
		case "properties":
			m.value, did, fits = fitProperties(m.value, depth)
		}
		changed = changed || did || !fits
		if fits {
			fitting = append(fitting, m)
		}
	}
	return fitting, changed
}

func fitList(list rawjson.Value, depth int) (fitting rawjson.Value, changed, ok bool) {
	all, ok := elements(list)
	if !ok {
		return list, false, false
	}
	text := []byte("[")
	for i, v := range all {
		v, did := fit(v, depth+1)
		changed = changed || did
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, v...)
	}
	if !changed {
		return list, false, true
	}
	return append(text, ']'), true, true
}

func fitProperties(object rawjson.Value, depth int) (fitting rawjson.Value, changed, ok bool) {
	members, ok := split(object)
	if !ok {
		return object, false, false
	}
	for i := range members {
		v, did := fit(members[i].value, depth+1)
		if did {
			members[i].value, changed = v, true
		}
	}
	if !changed {
		return object, false, true
	}
	return join(members), true, true
}

func isTexts(list rawjson.Value) bool {
	all, ok := elements(list)
	for _, v := range all {
		ok = ok && v.Kind() == '"'
	}
	return ok
}
