// Package match finds what a user searches for in a text. Capitals count only if the search has one, so
// "read" finds "Read" and "Read" does not find "read". Start reading at [Index].
package match

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Index returns where the first match begins and ends, or -1 twice. An empty query matches nothing.
func Index(text, query string) (begin, end int) {
	if query == "" {
		return -1, -1
	}
	folded := text
	if !strings.ContainsFunc(query, unicode.IsUpper) {
		if !isASCII(text) {
			return foldIndex(text, query)
		}
		folded = strings.ToLower(text)
	}
	if i := strings.Index(folded, query); i >= 0 {
		return i, i + len(query)
	}
	return -1, -1
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// foldIndex compares letter by letter: the two cases of a letter can have different lengths.
func foldIndex(text, query string) (begin, end int) {
	for i := range text {
		if n, ok := foldPrefix(text[i:], query); ok {
			return i, i + n
		}
	}
	return -1, -1
}

// foldPrefix reports whether a text begins with a query without capitals, and how long that is in the
// text.
func foldPrefix(text, query string) (n int, ok bool) {
	for i, r := range text {
		if query == "" {
			return i, true
		}
		want, size := utf8.DecodeRuneInString(query)
		if r != want && unicode.ToLower(r) != want {
			return 0, false
		}
		query = query[size:]
	}
	return len(text), query == ""
}
