package secret

import (
	"strings"
	"unicode/utf16"
)

// maxGap bounds what is passed over between two characters of a secret: a line end with
// indentation, or some sequences for a terminal. Without it, a text that begins with a long
// gap would be read again for each place of each secret.
const maxGap = 256

// noise returns the length of what a program puts between the characters of a text that it
// prints: line ends with the indentation of the next line, sequences that colour a terminal,
// the zero bytes of UTF-16, and a character that is printed over itself to be bold.
// Each can be escaped. It returns 0 if there is none.
func noise(text string) int {
	switch text[0] {
	case '\n', '\r':
		return 1 + blanks(text[1:])
	case '\x1b':
		return 1 + sequence(text[1:])
	case 0:
		return 1
	case '\b':
		return min(2, len(text))
	case '\\':
		return escapedNoise(text)
	}
	return 0
}

func escapedNoise(text string) int {
	n := 0
	for n < len(text) && text[n] == '\\' {
		if n++; n > maxRun {
			return 0
		}
	}
	rest := text[n:]
	if rest == "" {
		return 0
	}
	switch rest[0] {
	case 'n', 'r', '\n', '\r': // an escaped line end, or a line that is continued
		return n + 1 + blanks(rest[1:])
	case 'e':
		return n + 1 + sequence(rest[1:])
	}
	for _, code := range []string{"u001b", "u001B", "x1b", "x1B", "033"} {
		if strings.HasPrefix(rest, code) {
			return n + len(code) + sequence(rest[len(code):])
		}
	}
	for _, code := range []string{"u0000", "x00", "000", "0"} {
		if strings.HasPrefix(rest, code) {
			return n + len(code)
		}
	}
	return 0
}

// blanks returns how many blanks and tabs a text begins with.
func blanks(text string) int {
	n := 0
	for n < len(text) && n < maxGap && (text[n] == ' ' || text[n] == '\t') {
		n++
	}
	return n
}

// maxSequence bounds a sequence for a terminal. The longest that are common hold a link.
const maxSequence = 200

// sequence returns the length of what follows ESC in a sequence for a terminal. If the text
// ends in it, it is all of the text.
func sequence(text string) int {
	if text == "" {
		return 0
	}
	switch text[0] {
	case '[': // colours, and everything else that has numbers
		for n := 1; n < len(text); n++ {
			switch c := text[n]; {
			case n > maxSequence || c < ' ' || c > '~':
				return 1
			case c >= '@':
				return n + 1
			}
		}
		return len(text)
	case ']': // titles and links
		for n := 1; n < len(text); n++ {
			switch {
			case n > maxSequence:
				return 1
			case text[n] == '\a':
				return n + 1
			case text[n] == '\\' && text[n-1] == '\x1b':
				return n + 1
			case text[n-1] == '\x1b' || text[n] == '\n':
				return 1 // another sequence, or none
			}
		}
		return len(text)
	case '(', ')', '#', '%': // character sets
		return min(2, len(text))
	}
	return 1
}

const (
	lowerDigits = "0123456789abcdef"
	upperDigits = "0123456789ABCDEF"
)

// digitPair reads one byte that is written as two hexadecimal digits.
func digitPair(text string, want byte) (n, k int) {
	isDigit := func(c byte, value byte) bool { return c == lowerDigits[value] || c == upperDigits[value] }
	switch {
	case !isDigit(text[0], want>>4):
		return 0, 0
	case len(text) == 1:
		return -1, 0
	case !isDigit(text[1], want&15):
		return 0, 0
	}
	return 2, 1
}

// separator returns the length of what stands between two bytes in hexadecimal digits.
func separator(text string) int {
	switch text[0] {
	case ' ', '\t', ':', ',', '-':
		return 1
	case '0', '\\':
		if len(text) > 1 && (text[1] == 'x' || text[1] == 'X') {
			return 2
		}
	}
	return 0
}

// utf16Forms returns a value in both forms of UTF-16, unless it is ASCII: then its characters
// are found with the zero bytes between them.
func utf16Forms(value string) []string {
	ascii := true
	for i := range len(value) {
		ascii = ascii && value[i] < 0x80
	}
	if ascii {
		return nil
	}
	var little, big strings.Builder
	for _, unit := range utf16.Encode([]rune(value)) {
		high, low := byte(unit>>8), byte(unit)
		little.Write([]byte{low, high})
		big.Write([]byte{high, low})
	}
	return []string{little.String(), big.String()}
}
