package toml

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/perstack-go/perstack/internal/wording"
)

const (
	// maxSyntaxErrors bounds how many syntax errors of one file are reported.
	maxSyntaxErrors = 20

	// maxReparsed bounds the bytes that are read again to find them: each costs a pass.
	maxReparsed = 4 << 20
)

// parse builds the tree and reports syntax errors. The parser stops at the first one. If it
// is the value of a single line, that line is left out and the text is read again, so that
// the user learns of all such mistakes at once. It returns the text that was read last.
func (r *Reader) parse() (root *Node, b *builder, text []byte) {
	text = r.data
	for found := 1; ; found++ {
		b = new(builder)
		var err error
		root, err = b.build(text)
		if err == nil || b.excess != "" {
			return root, b, text
		}
		at := b.offset(err)
		r.Partial = true
		message, hint := describeSyntax(err.Error(), text, at)
		r.Fault(at, "", message, hint)
		start, end := lineAround(text, at)
		if found == maxSyntaxErrors || (found+1)*len(text) > maxReparsed || !singleValue(text[start:end], at-start) {
			return root, b, text
		}
		text = bytes.Clone(text)
		for i := start; i < end; i++ {
			text[i] = ' '
		}
	}
}

// lineAround is the line that an offset is in, without its end.
func lineAround(text []byte, at int) (start, end int) {
	start = bytes.LastIndexByte(text[:at], '\n') + 1
	end = len(text)
	if next := bytes.IndexByte(text[at:], '\n'); next >= 0 {
		end = at + next
	}
	return start, end
}

// singleValue reports whether a line assigns a value that ends on the same line, with a
// mistake in the value. Without such a line, the lines after it mean the same.
func singleValue(line []byte, at int) bool {
	key, value, found := bytes.Cut(line, []byte("="))
	if !found || at < len(key) || at == len(line) || // a text without its end can continue in the next line
		bytes.HasPrefix(bytes.TrimSpace(key), []byte("[")) {
		return false
	}
	opens := bytes.Count(value, []byte("[")) - bytes.Count(value, []byte("]")) + bytes.Count(value, []byte("{")) - bytes.Count(value, []byte("}"))
	return opens == 0 && !bytes.Contains(value, []byte(`"""`)) && !bytes.Contains(value, []byte("'''"))
}

// typographic are the quotes that word processors and chat programs put in place of " and '.
const typographic = "“”„‟«»‘’‚‛″′"

// describeSyntax is what to say about a syntax error, and a hint for the mistakes that
// newcomers to TOML make. The parser shows the first byte of a character; the user wrote the
// whole one.
func describeSyntax(message string, text []byte, at int) (described, hint string) {
	described = wording.Visible(message)
	start, end := lineAround(text, at)
	if at < len(text) && text[at] >= utf8.RuneSelf {
		c, _ := utf8.DecodeRune(text[at:])
		described = strings.Replace(described, fmt.Sprintf("%U '%c'", text[at], text[at]), fmt.Sprintf("%U '%c'", c, c), 1)
		if strings.ContainsRune(typographic, c) {
			return wording.Visible(described), `it is a typographic quote; write " instead`
		}
	}
	if strings.Contains(message, "new lines") && bytes.ContainsAny(text[start:end], typographic) {
		return described, `the line has typographic quotes; write " instead`
	}
	return wording.Visible(described), syntaxHint(message)
}

func syntaxHint(message string) string {
	switch {
	case strings.Contains(message, "start of key: U+0040"):
		return `put names with @ or / in quotes, like [experts."@acme/writer"]`
	case strings.Contains(message, "expected ']' to close table name"):
		return `put names with other characters than letters, digits, - and _ in quotes, like [experts."@acme/writer"]`
	case strings.Contains(message, "at start of value"), strings.Contains(message, "expected keyword"):
		return "put text in quotes"
	case strings.Contains(message, "unterminated basic string"), strings.Contains(message, "new lines"):
		return `text of several lines stands between """ and """`
	}
	return ""
}
