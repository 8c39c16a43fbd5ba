package markdown

import "strings"

// This file says what a single line is.

func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

func hasBlank(lines []string) bool {
	for _, l := range lines {
		if isBlank(l) {
			return true
		}
	}
	return false
}

// indentOf counts the columns before the text of a line. A tab goes to the next multiple of four.
func indentOf(line string) (n int) {
	for i := range len(line) {
		switch line[i] {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n
		}
	}
	return n
}

// outdent removes up to so many columns of indentation.
func outdent(line string, columns int) string {
	n := 0
	for i := range len(line) {
		switch {
		case n >= columns:
			return line[i:]
		case line[i] == ' ':
			n++
		case line[i] == '\t':
			n += 4 - n%4
			if n > columns {
				return strings.Repeat(" ", n-columns) + line[i+1:]
			}
		default:
			return line[i:]
		}
	}
	return ""
}

// openerOf returns the characters that begin a code block; empty if the line does not.
func openerOf(line string) string {
	bare := strings.TrimLeft(line, " ")
	if len(line)-len(bare) > 3 || bare == "" || bare[0] != '`' && bare[0] != '~' {
		return ""
	}
	n := len(bare) - len(strings.TrimLeft(bare, bare[:1]))
	if n < 3 || bare[0] == '`' && strings.Contains(bare[n:], "`") {
		return ""
	}
	return bare[:n]
}

// headingLevel is 1 to 6 for a line that begins with as many signs of a heading, else 0.
func headingLevel(bare string) int {
	n := len(bare) - len(strings.TrimLeft(bare, "#"))
	if n < 1 || n > 6 || len(bare) > n && bare[n] != ' ' && bare[n] != '\t' {
		return 0
	}
	return n
}

// headingText returns the text of a heading, which signs can follow.
func headingText(bare string) string {
	text := strings.TrimSpace(bare[headingLevel(bare):])
	end := strings.TrimRight(text, "#")
	if end == "" || len(end) < len(text) && strings.HasSuffix(end, " ") {
		return strings.TrimSpace(end)
	}
	return text
}

// isRule reports whether a line is a rule: three signs or more, of one kind.
func isRule(bare string) bool {
	signs := strings.ReplaceAll(strings.ReplaceAll(bare, " ", ""), "\t", "")
	return len(signs) >= 3 && strings.ContainsAny(signs[:1], "-*_") && strings.Trim(signs, signs[:1]) == ""
}

// isItem reports whether a line begins an item of a list.
func isItem(bare string) bool {
	marker, _ := cutMarker(bare)
	return marker != ""
}

// cutMarker returns the marker of an item, and its text; "" if the line begins no item.
func cutMarker(bare string) (marker, rest string) {
	n := len(bare) - len(strings.TrimLeft(bare, "0123456789"))
	switch {
	case n > 9 || n == len(bare):
		return "", ""
	case n > 0 && bare[n] != '.' && bare[n] != ')', n == 0 && !strings.ContainsAny(bare[:1], "-*+"):
		return "", ""
	case len(bare) > n+1 && bare[n+1] != ' ' && bare[n+1] != '\t':
		return "", ""
	}
	return bare[:n+1], strings.TrimSpace(bare[n+1:])
}
