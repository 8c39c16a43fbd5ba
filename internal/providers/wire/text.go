package wire

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
)

// Marshal encodes what goes into a body. Text that is no UTF-8 is repaired. An error is
// about a raw value that nobody checked; a part of a message that cannot be encoded must
// not end a job, so callers say that it was left out.
func Marshal(v any) ([]byte, error) {
	return json.Marshal(v, jsontext.AllowInvalidUTF8(true))
}

// Quote writes s as JSON.
func Quote(s string) jsontext.Value {
	quoted, _ := jsontext.AppendQuote(nil, s) // its error is about characters that it replaced
	return quoted
}

// JoinLines returns the text parts among parts, one below the other: an instruction.
func JoinLines(parts []event.Part) string {
	var texts []string
	for i := range parts {
		if parts[i].Type == event.TextPart {
			texts = append(texts, parts[i].Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Object returns arguments that every API takes: an object, and nothing else.
func Object(args jsontext.Value) jsontext.Value {
	if args.Kind() != '{' || !args.IsValid() {
		return jsontext.Value("{}")
	}
	return args
}

// Identifier makes an id or a name of letters, digits, _ and -, with at most so many
// characters. Other providers have other characters in theirs; each becomes its number,
// so that two ids do not become one.
func Identifier(s string, most int) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "_%x_", r)
		}
	}
	if b.Len() == 0 {
		return "unnamed"
	}
	return b.String()[:min(b.Len(), most)]
}

// Tokens keeps a number of tokens within reason, so that no sum of them overflows. Absent
// is 0.
func Tokens(n *int64) int {
	if n == nil {
		return 0
	}
	return int(min(max(*n, 0), 1<<30))
}
