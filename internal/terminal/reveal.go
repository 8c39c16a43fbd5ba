package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Reveal makes visible what [Clean] would take out: a control character, or one that
// draws nothing, becomes its number, as in <U+200B>. It is for text that a model reads as
// well: what a person reviewed and what the model is told must be the same. Line feeds
// and tabs stay, and so does what an emoji or a script needs to look right.
//
// Reveal(Reveal(x)) is Reveal(x), and Clean leaves it as it is.
func Reveal(text string) string {
	if isPlain(text) {
		return text
	}
	var out strings.Builder
	out.Grow(len(text))
	last := rune(-1) // what was written before
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		rest := text[size:]
		text = rest
		switch {
		case r == '\r' && strings.HasPrefix(rest, "\n"):
			continue
		case r == '\n' || r == '\t':
		case unicode.IsControl(r), endsLine(r), isInvisible(r) && !isNeeded(last, r, rest):
			fmt.Fprintf(&out, "<U+%04X>", r)
			last = '>'
			continue
		}
		out.WriteRune(r) // U+FFFD for a byte that is not UTF-8
		last = r
	}
	return out.String()
}

// RevealLine is [Reveal] for text that must stay on one line.
func RevealLine(text string) string {
	return strings.Join(strings.Fields(Reveal(text)), " ")
}
