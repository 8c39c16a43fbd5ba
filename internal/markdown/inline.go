package markdown

import (
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"

	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/terminal"
)

// inline returns the text of a node. Line feeds in it are those that the author wanted.
func (l *layout) inline(n ast.Node, style Style) (spans []Span) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		spans = append(spans, l.span(c, style)...)
	}
	return spans
}

func (l *layout) span(n ast.Node, style Style) []Span {
	switch n := n.(type) {
	case *ast.Text:
		text := unescape(string(n.Value(l.source)))
		switch {
		case n.HardLineBreak():
			text += "\n"
		case n.SoftLineBreak():
			text += " "
		}
		return []Span{{text, style}}
	case *ast.String:
		return []Span{{string(n.Value), style}}
	case *ast.CodeSpan:
		return []Span{{plain(n, l.source), style | Code}}
	case *ast.Emphasis:
		if n.Level == 1 {
			return l.inline(n, style|Italic)
		}
		return l.inline(n, style|Bold)
	case *east.Strikethrough:
		return l.inline(n, style|Struck)
	case *ast.AutoLink:
		return []Span{{string(n.Label(l.source)), style}}
	case *ast.Link:
		return l.link(l.inline(n, style), string(n.Destination))
	case *ast.Image:
		return l.link(l.inline(n, style), string(n.Destination))
	case *ast.RawHTML:
		return []Span{{string(n.Segments.Value(l.source)), style}}
	case *east.TaskCheckBox:
		if n.IsChecked {
			return []Span{{"[x] ", style}}
		}
		return []Span{{"[ ] ", style}}
	}
	return l.inline(n, style)
}

// unescape resolves what Markdown and HTML escape.
func unescape(text string) string {
	if !strings.ContainsAny(text, `\&`) {
		return text
	}
	// A reference can stand for a control character.
	return terminal.Clean(string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations([]byte(text))))))
}

// link adds the address to the text of a link, so that a reader sees where it leads.
func (l *layout) link(text []Span, address string) []Span {
	var shown strings.Builder
	for _, s := range text {
		shown.WriteString(s.Text)
	}
	switch {
	case address == "" || shown.String() == address:
		return text
	case shown.Len() == 0:
		return []Span{{address, Quiet}}
	}
	return append(text, Span{" (" + address + ")", Quiet})
}

// plain returns the text of code, in which nothing is escaped.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Value(source))
		}
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}

// wrap breaks spans into lines of at most so many columns. A word that is longer is broken, too.
func wrap(spans []Span, space int) (lines [][]Span) {
	var all strings.Builder
	for _, s := range spans {
		all.WriteString(strings.ReplaceAll(s.Text, "\t", " "))
	}
	styles := styleReader{spans: spans}
	for part := range strings.SplitSeq(strings.TrimSpace(all.String()), "\n") {
		for _, wrapped := range columns.Wrap(strings.TrimSpace(part), space) {
			for _, line := range columns.Break(wrapped, space) {
				lines = append(lines, styles.read(line))
			}
		}
	}
	return lines
}

// A styleReader gives the characters of lines back the styles that they had before the text was
// wrapped. Wrapping only drops blanks.
type styleReader struct {
	spans []Span
	at    int // in the text of the first span
}

func (r *styleReader) read(line string) (out []Span) {
	for _, c := range line {
		style, ok := r.next(c)
		if !ok {
			style = 0
		}
		if last := len(out) - 1; last >= 0 && out[last].Style == style {
			out[last].Text += string(c)
		} else {
			out = append(out, Span{string(c), style})
		}
	}
	return out
}

// next finds the next character of the text that is this one.
func (r *styleReader) next(want rune) (Style, bool) {
	for len(r.spans) > 0 {
		s := r.spans[0]
		if r.at >= len(s.Text) {
			r.spans, r.at = r.spans[1:], 0
			continue
		}
		c, size := utf8.DecodeRuneInString(s.Text[r.at:])
		r.at += size
		if c == '\t' {
			c = ' '
		}
		if c == want {
			return s.Style, true
		}
	}
	return 0, false
}
