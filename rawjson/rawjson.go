// Package rawjson has the type of JSON that is passed on as it is: the arguments of a tool
// call, the schema of a tool, members of a record that this version does not know.
//
// It works with encoding/json and with the JSON library that perstack itself uses, and
// names neither in its API. Start reading at [Value].
package rawjson

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// A Value is one JSON value as text. Nil encodes as null.
type Value []byte

// String returns the text.
func (v Value) String() string {
	if v == nil {
		return "null"
	}
	return string(v)
}

// IsValid reports whether the text is exactly one JSON value, in UTF-8 and without names
// that are given twice.
func (v Value) IsValid() bool { return jsontext.Value(v).IsValid() }

// IsWithin reports whether the text is JSON that is nested no deeper than depth.
func (v Value) IsWithin(depth int) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	for {
		_, err := dec.ReadToken()
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		if dec.StackDepth() > depth {
			return false
		}
	}
}

// Kind returns the first character of the value, which tells its type: '{', '[', '"', 't',
// 'f', 'n', or '0' for any number. It is 0 for a text that begins like no JSON value.
func (v Value) Kind() byte { return byte(jsontext.Value(v).Kind()) }

// Clone returns a copy; nil for nil.
func (v Value) Clone() Value { return Value(jsontext.Value(v).Clone()) }

// MarshalJSON returns the text.
func (v Value) MarshalJSON() ([]byte, error) {
	if v == nil {
		return []byte("null"), nil
	}
	return v, nil
}

// UnmarshalJSON keeps a copy of the text.
func (v *Value) UnmarshalJSON(text []byte) error {
	*v = append((*v)[:0], text...)
	return nil
}
