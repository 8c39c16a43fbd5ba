package frame

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/rawjson"
)

// guess finds the id of a message that is not valid JSON, or of which only the ends are known. A
// wrong guess makes one call of the same server fail, which the server can do anyway.
func guess(head, tail []byte) rawjson.Value {
	if id := guessHead(head); id != nil {
		return id
	}
	// Many servers write the id last.
	tail = bytes.TrimSpace(tail)
	name := []byte(`"id":`)
	i := bytes.LastIndex(tail, name)
	if i < 0 || tail[len(tail)-1] != '}' {
		return nil
	}
	return asID(bytes.TrimSpace(tail[i+len(name) : len(tail)-1]))
}

func guessHead(head []byte) rawjson.Value {
	dec := jsontext.NewDecoder(bytes.NewReader(head), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if open, err := dec.ReadToken(); err != nil || open.Kind() != '{' {
		return nil
	}
	for {
		name, err := dec.ReadToken()
		if err != nil || name.Kind() != '"' {
			return nil
		}
		if name.String() != "id" {
			if dec.SkipValue() != nil {
				return nil
			}
			continue
		}
		id, err := dec.ReadValue()
		if err != nil {
			return nil
		}
		return asID(id)
	}
}

func asID(text []byte) rawjson.Value {
	id := rawjson.Value(bytes.Clone(text))
	if !id.IsValid() || !isID(id) {
		return nil
	}
	return id
}

// FixUTF8 replaces invalid UTF-8 and half surrogate pairs in a text that is JSON otherwise. A
// server that cuts a text in the middle of an emoji sends such.
func FixUTF8(data []byte) []byte {
	if jsontext.Value(data).IsValid(jsontext.AllowDuplicateNames(true)) {
		return data
	}
	fixed := rawjson.Value(bytes.Clone(data))
	if (*jsontext.Value)(&fixed).Compact(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(false)) != nil {
		return data
	}
	return fixed
}
