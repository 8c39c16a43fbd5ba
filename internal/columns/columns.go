// Package columns measures, cuts and wraps text by the columns that it takes on a terminal. The text is
// clean: see internal/terminal. Start reading at [Of].
package columns

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// runeWidth is the number of columns that a terminal gives r. A sequence of emoji that
// draws as one is counted too wide: a line that is cut early is better than one that
// runs over.
func runeWidth(r rune) int {
	switch {
	case r < 0x300: // no wide or combining character is below
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Of is the number of columns that text takes.
func Of(text string) int {
	n := 0
	for _, r := range text {
		n += runeWidth(r)
	}
	return n
}

// Shorten cuts text to so many columns, "..." included.
func Shorten(text string, space int) string {
	const more = "..."
	n, end := 0, 0 // end is where the rest would begin
	for i, r := range text {
		if n <= space-len(more) {
			end = i
		}
		if n += runeWidth(r); n > space {
			return text[:end] + more
		}
	}
	return text
}

// Wrap breaks a line into lines of so many columns: between words, and before and
// after wide characters, since their scripts put no blanks between words. The lines
// that follow keep the indentation of the first. A word that is too long stays whole:
// an address that the terminal breaks can still be copied.
func Wrap(text string, space int) []string {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	if len(indent) > space/2 {
		indent = ""
	}
	var lines []string
	var current strings.Builder
	n, words := 0, 0 // columns and words of the current line
	for blanks, word := range units(text) {
		size := Of(word)
		if words > 0 && n+len(blanks)+size > space {
			lines = append(lines, current.String())
			current.Reset()
			blanks, n, words = indent, 0, 0
		}
		current.WriteString(blanks + word)
		n += len(blanks) + size
		words++
	}
	return append(lines, current.String())
}

// units yields the parts of a line that must not be broken, each with the blanks
// before it: words, and single wide characters.
func units(text string) iter.Seq2[string, string] {
	return func(yield func(blanks, word string) bool) {
		for text != "" {
			rest := strings.TrimLeft(text, " ")
			blanks := text[:len(text)-len(rest)]
			end := unitEnd(rest)
			if rest == "" || !yield(blanks, rest[:end]) {
				return // blanks at the end of a line show nothing
			}
			text = rest[end:]
		}
	}
}

// unitEnd returns where the unit ends that text begins with. What has no width, as an
// accent, belongs to the character before.
func unitEnd(text string) int {
	wide := false
	for i, r := range text {
		size := runeWidth(r)
		if r == ' ' || i > 0 && size > 0 && (wide || size == 2) {
			return i
		}
		wide = wide || size == 2
	}
	return len(text)
}

// Break breaks a line into lines of at most so many columns, on every terminal: a character whose
// width differs between terminals counts as wide. Nothing is lost. A line is broken before a blank,
// with which the next one begins, or within a word that is longer than half a line.
func Break(text string, space int) (lines []string) {
	space = max(space, 2)
	n, blank, before := 0, 0, 0 // columns, where the last blank is, and the columns before it
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		columns := widest(r)
		if n+columns > space {
			end := i
			if before > space/2 {
				end = blank
			}
			lines = append(lines, text[:end])
			text, i, n, before = text[end:], 0, 0, 0
			continue
		}
		if r == ' ' {
			blank, before = i, n
		}
		n += columns
		i += size
	}
	return append(lines, text)
}

// widest is the largest number of columns that a terminal gives r.
func widest(r rune) int {
	n := runeWidth(r)
	if n == 1 && r >= utf8.RuneSelf && width.LookupRune(r).Kind() == width.EastAsianAmbiguous {
		return 2
	}
	return n
}
