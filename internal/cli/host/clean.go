package host

import (
	"strings"
	"unicode"
)

// Clean makes untrusted text safe to print on a terminal: control characters, the
// escape sequences they would start, and marks that reorder text are removed. Line
// breaks and tabs stay.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r): // C0, DEL and C1; without them no sequence starts
			return -1
		case unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029', r == '\ufeff':
			return -1
		case r >= 0xe0000 && r <= 0xe007f: // tags: text that only a model reads
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
}

// CleanLine is [Clean] for text that must stay on one line.
func CleanLine(text string) string {
	return strings.Join(strings.Fields(Clean(text)), " ")
}
