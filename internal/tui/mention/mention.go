// Package mention completes paths that a user mentions in an input, as in "@notes.txt", and finds them in
// what is sent.
//
// A path with a blank is quoted: @"my notes.txt". The package opens nothing: it is given the paths, see
// [NewIndex]. Start reading at [Menu].
package mention

import "strings"

// A Mention is a path in a text.
type Mention struct {
	Path       string
	Begin, End int // bytes of the text, from the "@" on
}

// opens reports whether a mention can begin after so much of a text: an address of mail is none.
func opens(before string) bool {
	if before == "" {
		return true
	}
	return strings.ContainsRune(" \t\n([{<,;:\"'", rune(before[len(before)-1]))
}

// punctuation ends a sentence rather than a path.
const punctuation = ".,;:!?)]}>'\""

const blanks = " \t\n"

// Find returns the paths that a text mentions, in order.
func Find(text string) (found []Mention) {
	for i := 0; i < len(text); i++ {
		if text[i] != '@' || !opens(text[:i]) {
			continue
		}
		path, end, closed := parse(text[i+1:])
		if !closed {
			continue
		}
		if path != "" {
			found = append(found, Mention{path, i, i + 1 + end})
		}
		i += end
	}
	return found
}

// parse reads what follows an "@": a path, and where it ends. A quoted path is closed if its second
// quotation mark is there.
func parse(text string) (path string, end int, closed bool) {
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		path, end, closed = unquote(quoted)
		return path, end + 1, closed
	}
	if end = strings.IndexAny(text, blanks); end < 0 {
		end = len(text)
	}
	path = strings.TrimRight(text[:end], punctuation)
	return path, len(path), true
}

// unquote reads a quoted path, to which its first quotation mark does not belong.
func unquote(text string) (path string, end int, closed bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			if i++; i == len(text) {
				return b.String(), i, false
			}
		case '"':
			return b.String(), i + 1, true
		case '\n':
			return b.String(), i, false
		}
		b.WriteByte(text[i])
	}
	return b.String(), len(text), false
}

// Write returns how a path is mentioned.
func Write(path string) string {
	if isPlain(path) {
		return "@" + path
	}
	return open(path) + `"`
}

// open is Write for a path that is continued.
func open(path string) string {
	if isPlain(path) {
		return "@" + path
	}
	return `@"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path)
}

func isPlain(path string) bool {
	return !strings.ContainsAny(path, blanks) && !strings.HasPrefix(path, `"`) && strings.TrimRight(path, punctuation) == path
}
