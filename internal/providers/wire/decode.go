package wire

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What one event may hold. What providers send stays under 20 deep, and has as many values
// as the schemas of the tools that some of them send back. A value that takes two bytes on
// the wire can take hundreds in memory.
const (
	maxDepth  = 200
	maxValues = 200_000
)

// Decode reads JSON that came from outside into v. Unknown members are left out, and
// bytes that are no UTF-8 are replaced: half a character must not cost a whole answer.
func Decode(data []byte, v any) error {
	if err := Bound(data); err != nil {
		return err
	}
	return json.Unmarshal(data, v, jsontext.AllowInvalidUTF8(true))
}

// Bound refuses JSON that would take far more memory than it has bytes, or that is nested
// deeply. It looks at brackets and commas alone, so that nothing is built before the answer
// is known. Whether it is JSON at all, it does not say.
func Bound(data []byte) error {
	depth, values, quoted := 0, 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '}' || c == ']':
			depth--
		case c == '{' || c == '[':
			values++
			if depth++; depth > maxDepth {
				return fmt.Errorf("JSON that is nested more than %d deep", maxDepth)
			}
		case c == ',':
			values++
		}
		if values > maxValues {
			return fmt.Errorf("JSON of more than %d values", maxValues)
		}
	}
	return nil
}
