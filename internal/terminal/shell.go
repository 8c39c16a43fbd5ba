package terminal

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// ShellJoin writes words as one line of a shell, which reads them back as they are. [Clean] leaves
// it as it is: a character that a terminal would obey, or that cannot be seen, is written as an
// escape. Taking it out would show another command.
func ShellJoin(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = shellWord(word)
	}
	return strings.Join(quoted, " ")
}

func shellWord(word string) string {
	switch {
	case Clean(word) != word || strings.ContainsAny(word, "\n\t"):
		return escapedWord(word)
	case word != "" && !strings.ContainsFunc(word, isShellSpecial):
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func isShellSpecial(c rune) bool {
	return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && !strings.ContainsRune("_./:@%+=,-", c)
}

// escapedWord is for bash, zsh, ksh and every other shell of POSIX 2024: older ones have no escapes.
func escapedWord(word string) string {
	var out strings.Builder
	out.WriteString("$'")
	for rest := word; rest != ""; {
		_, n := utf8.DecodeRuneInString(rest)
		char := rest[:n]
		rest = rest[n:]
		switch {
		case char == `'` || char == `\`:
			out.WriteString(`\` + char)
		case char == "\n":
			out.WriteString(`\n`)
		case char == "\t":
			out.WriteString(`\t`)
		case Clean(char) != char:
			// Bytes mean the same in every locale. In octal it is clear where a number ends.
			for i := range n {
				fmt.Fprintf(&out, `\%03o`, char[i])
			}
		default:
			out.WriteString(char)
		}
	}
	return out.String() + "'"
}
