package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ids are the ids of the calls of one turn, each with the number that was last put behind it.
type ids map[string]int

// unique makes sure that a result can be matched to its call, whatever ids the model made
// up: a thousand times the same, too.
func (taken ids) unique(id string) string {
	if id == "" {
		id = "call"
	}
	unique := id
	for taken[unique] > 0 {
		taken[id]++
		unique = fmt.Sprintf("%s-%d", id, taken[id])
	}
	taken[unique] = max(taken[unique], 1)
	return unique
}

// invalidArgs is the member under which arguments that are no JSON object are kept,
// so that the model can see what it wrote.
const invalidArgs = "_invalidArguments"

// arguments returns a call's arguments as a JSON object, whatever the model wrote.
func arguments(raw []byte) jsontext.Value {
	v := jsontext.Value(bytes.TrimSpace(raw)).Clone()
	if len(v) == 0 {
		return jsontext.Value("{}")
	}
	if v.Kind() == '{' && isShallow(v) && v.Compact() == nil {
		return v
	}
	wrapped, err := json.Marshal(map[string]string{invalidArgs: string(raw)}, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return jsontext.Value("{}")
	}
	return wrapped
}

// maxArgsDepth bounds how deep arguments may be nested. No tool needs more, and what is
// near the limit of a decoder could be written but not read back.
const maxArgsDepth = 100

// isShallow reports whether v is valid JSON of a sensible depth.
func isShallow(v jsontext.Value) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	for {
		_, err := dec.ReadToken()
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		if dec.StackDepth() > maxArgsDepth {
			return false
		}
	}
}

// hasInvalidArgs reports whether arguments wrapped what the model wrote.
func hasInvalidArgs(args jsontext.Value) bool {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(args, &members); err != nil {
		return true
	}
	_, wrapped := members[invalidArgs]
	return wrapped && len(members) == 1
}
