package wire

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds how deep an answer may be nested. What providers send stays under 20.
const maxDepth = 200

// Decode reads JSON that came from outside into v. Unknown members are left out, and
// bytes that are no UTF-8 are replaced: half a character must not cost a whole answer.
func Decode(data []byte, v any) error {
	if isDeep(data) {
		return fmt.Errorf("JSON that is nested more than %d deep", maxDepth)
	}
	return json.Unmarshal(data, v, jsontext.AllowInvalidUTF8(true))
}

// isDeep looks at brackets alone, so that nothing is built before the answer is known.
func isDeep(data []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
