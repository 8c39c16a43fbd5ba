package secret

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A reading is a way in which text stands for other text.
type reading int

const (
	escapes  reading = iota // JSON, Go and shell strings: \n, \", \/, \u0041, \x41
	percents                // URLs: %41, + for a blank
	digits                  // hexadecimal: 41 42, 41:42, 4142, 0x41, 0x42
)

// match returns how many bytes of text stand for p from its byte j on; 0 if they do
// not. Text that ends before p does counts from minLength bytes of p on: it was cut.
//
// Escapes may be nested any number of times, as when the output of a program that prints
// JSON is put into JSON. So any number of backslashes counts as one.
//
// What programs put between the characters of a text is passed over; see noise.
func (p *pattern) match(text string, j int, as reading) int {
	i, begin := 0, j
	gap := 0 // bytes that were passed over since the last that stands for p
	for j < len(p.text) {
		if i == len(text) {
			return cutAt(i, j-begin)
		}
		var n, k int // bytes of text, and of p that they stand for
		switch {
		case as == percents:
			n, k = percent(text[i:], p.text[j:])
		case as == digits:
			n, k = digitPair(text[i:], p.text[j])
		case text[i] == '\\' || p.text[j] == '\\':
			n, k = escape(text[i:], p.text[j:])
		case text[i] == p.text[j]:
			n, k = 1, 1
		}
		if n == 0 && j > begin {
			if n = noise(text[i:]); n == 0 && as == digits {
				n = separator(text[i:])
			}
			if gap += n; gap > maxGap {
				return 0
			}
		} else {
			gap = 0
		}
		switch {
		case n < 0: // text ends inside an escape
			return cutAt(len(text), j-begin)
		case n == 0:
			return 0
		}
		i, j = i+n, j+k
	}
	return i
}

func cutAt(n, matched int) int {
	if matched < minLength {
		return 0
	}
	return n
}

// percent reads one byte of a URL.
func percent(text, p string) (n, k int) {
	switch {
	case text[0] == '%':
		if b, ok := hex(text[1:], 2); ok && byte(b) == p[0] {
			return 3, 1
		}
		if len(text) < 3 {
			return -1, 0
		}
		return 0, 0
	case text[0] == p[0], text[0] == '+' && p[0] == ' ':
		return 1, 1
	}
	return 0, 0
}

// shortLetters stand for a control character each, behind a backslash.
const shortLetters = "nrtbfva0e"

// short maps the letter of an escape to what it stands for.
func short(letter byte) byte {
	if i := strings.IndexByte(shortLetters, letter); i >= 0 {
		return "\n\r\t\b\f\v\a\x00\x1b"[i]
	}
	return letter // \", \\, \/, \', \$ and the like
}

// maxRun bounds the backslashes that are read as one: enough for text that was put into
// JSON six times. Without it, a text of nothing but backslashes would be read again from
// each of them.
const maxRun = 64

// escape reads a run of backslashes with what it escapes, or one that p has itself. It
// returns -1 if the text ends before that is known.
func escape(text, p string) (n, k int) {
	for n < len(text) && text[n] == '\\' {
		if n++; n > maxRun {
			return 0, 0
		}
	}
	for k < len(p) && p[k] == '\\' {
		k++
	}
	switch {
	case n == 0:
		return 0, 0
	case k == 0:
		more, k := escaped(text[n:], p)
		if more < 0 || k == 0 {
			return more, k
		}
		return n + more, k
	}
	// Backslashes of the secret, however often they were doubled. Behind them the escape
	// of the next character has lost its own backslash in the run.
	if more, one := escaped(text[n:], `\`); one > 0 && text[n] == 'u' {
		return n + more, 1
	}
	if k < len(p) && n < len(text) && text[n] != p[k] {
		if more, next := escaped(text[n:], p[k:]); next > 0 {
			return n + more, k + next
		}
	}
	return n, k
}

// escaped reads what follows the backslash of an escape.
func escaped(text, p string) (n, k int) {
	if text == "" {
		return -1, 0
	}
	var width int
	switch text[0] {
	case 'u':
		width = 4
	case 'U':
		width = 8
	case 'x':
		width = 2
	default:
		if short(text[0]) == p[0] {
			return 1, 1
		}
		return 0, 0
	}
	digits := text[1:]
	code, ok := hex(digits, width)
	switch {
	case !ok && len(digits) < width && isHex(digits):
		return -1, 0
	case !ok, width == 2 && byte(code) != p[0]:
		return 0, 0
	case width == 2:
		return 3, 1
	}
	n = 1 + width
	r := rune(code)
	if utf16.IsSurrogate(r) {
		rest := strings.TrimLeft(text[n:min(n+maxRun, len(text))], `\`)
		if !strings.HasPrefix(rest, "u") {
			return 0, 0
		}
		low, ok := hex(rest[1:], 4)
		if !ok {
			return 0, 0
		}
		r = utf16.DecodeRune(r, rune(low))
		n = min(n+maxRun, len(text)) - len(rest) + 5
	}
	var buf [utf8.UTFMax]byte
	size := utf8.EncodeRune(buf[:], r)
	if strings.HasPrefix(p, string(buf[:size])) {
		return n, size
	}
	return 0, 0
}

// hex reads a number of n hexadecimal digits.
func hex(text string, n int) (value uint32, ok bool) {
	if len(text) < n || !isHex(text[:n]) {
		return 0, false
	}
	v, err := strconv.ParseUint(text[:n], 16, 32)
	return uint32(v), err == nil
}

func isHex(text string) bool { return strings.Trim(text, "0123456789abcdefABCDEF") == "" }
