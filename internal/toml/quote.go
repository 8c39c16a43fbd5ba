package toml

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// String writes a string so that a person who reviews the file sees all of it: JSON
// stays as it is, in single quotes; invisible characters are escaped.
func String(s string) string {
	hidden := strings.ContainsFunc(s, IsHidden)
	quoted := strings.ContainsAny(s, `"\`)
	switch {
	case hidden || !quoted:
		return basicString(s)
	case !strings.Contains(s, "'"):
		return "'" + s + "'"
	case !strings.Contains(s, "''") && !strings.HasPrefix(s, "'") && !strings.HasSuffix(s, "'"):
		return "'''" + s + "'''"
	}
	return basicString(s)
}

// IsHidden reports whether c draws nothing, or something else than itself. Variation
// selectors and fillers count as letters or marks, so that IsPrint lets them pass.
func IsHidden(c rune) bool {
	return !strconv.IsPrint(c) || unicode.In(c, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

func basicString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case !IsHidden(c):
			b.WriteRune(c)
		case c > 0xffff:
			fmt.Fprintf(&b, `\U%08X`, c)
		default:
			fmt.Fprintf(&b, `\u%04X`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
