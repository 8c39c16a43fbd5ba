package script

import (
	"crypto/sha256"
	"encoding/base64"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Sign makes the signature of a thought. It follows from the text, so that a server knows
// its own without remembering them.
func Sign(text string) string {
	sum := sha256.Sum256([]byte("signed by the script: " + text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Quote writes s as JSON. What a wire carries is valid UTF-8 whatever s is.
func Quote(s string) string {
	b, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(s, "\ufffd")) // fails for other texts only
	return string(b)
}

// SSE is one server-sent event. One without a name has data alone.
func SSE(name, data string) []byte {
	text := "data: " + data + "\n\n"
	if name != "" {
		text = "event: " + name + "\n" + text
	}
	return []byte(text)
}

// Pieces cuts arguments without regard for what they mean: in the middle of names,
// numbers and escapes. The first one is empty, as some services have it.
func Pieces(s string) iter.Seq[string] {
	size := max(7, len(s)/32)
	return func(yield func(string) bool) {
		if !yield("") {
			return
		}
		rest := s
		for rest != "" {
			end := min(size, len(rest))
			for end < len(rest) && !utf8.RuneStart(rest[end]) {
				end++
			}
			if !yield(rest[:end]) {
				return
			}
			rest = rest[end:]
		}
	}
}
