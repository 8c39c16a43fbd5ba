package markdown

import (
	"html"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/terminal"
)

// HTML returns a whole text as HTML for a page. Tags in the text are shown, never used. An address is a
// link only if it leads to a web page, and is always shown, so that no link can pretend to lead elsewhere.
// Headings start at h3: the page has its own above them.
func HTML(source string) string {
	var w htmlWriter
	w.blocks(parse(terminal.Clean(source)), false)
	return w.String()
}

type htmlWriter struct{ strings.Builder }

func (w *htmlWriter) element(name string, inner func()) {
	w.WriteString("<" + name + ">")
	inner()
	w.WriteString("</" + name + ">\n")
}

// blocks writes blocks. In a tight list, paragraphs are only their text.
func (w *htmlWriter) blocks(nodes []node, tight bool) {
	for _, n := range nodes {
		w.block(n, tight)
	}
}

func (w *htmlWriter) block(n node, tight bool) {
	switch n.kind {
	case heading:
		w.element("h3", func() { w.spans(inline(n.text, 0)) })
	case paragraph:
		if tight {
			w.spans(inline(n.text, 0))
			return
		}
		w.element("p", func() { w.spans(inline(n.text, 0)) })
	case list:
		w.list(n)
	case item: // a list writes it
	case quote:
		w.element("blockquote", func() { w.blocks(n.inner, false) })
	case code, comment:
		w.element("pre", func() { w.WriteString(html.EscapeString(n.text)) })
	case rule:
		w.WriteString("<hr>\n")
	case table:
		w.table(n)
	}
}

func (w *htmlWriter) list(n node) {
	name := "ul"
	if n.ordered {
		name = "ol"
	}
	w.WriteString("<" + name)
	if n.ordered && n.start != 1 {
		w.WriteString(` start="` + strconv.Itoa(n.start) + `"`)
	}
	w.WriteString(">\n")
	for _, one := range n.inner {
		w.element("li", func() { w.blocks(one.inner, n.tight) })
	}
	w.WriteString("</" + name + ">\n")
}

func (w *htmlWriter) table(n node) {
	w.element("table", func() {
		for i, row := range n.rows {
			name := "td"
			if i == 0 {
				name = "th"
			}
			w.element("tr", func() {
				for _, entry := range row {
					w.element(name, func() { w.spans(inline(entry, 0)) })
				}
			})
		}
	})
}

var styleTags = []struct {
	style Style
	tag   string
}{{Bold, "strong"}, {Italic, "em"}, {Struck, "s"}, {Code, "code"}}

func (w *htmlWriter) spans(spans []Span) {
	for _, s := range spans {
		for _, t := range styleTags {
			if s.Style&t.style != 0 {
				w.WriteString("<" + t.tag + ">")
			}
		}
		w.text(s)
		for i := range styleTags {
			if t := styleTags[len(styleTags)-1-i]; s.Style&t.style != 0 {
				w.WriteString("</" + t.tag + ">")
			}
		}
	}
}

// text writes the text of a span. The address of a link is one of its own, in parentheses if the link has
// a text.
func (w *htmlWriter) text(s Span) {
	address := strings.TrimSuffix(strings.TrimPrefix(s.Text, " ("), ")")
	if s.Style&Code != 0 || !isWeb(address) {
		w.WriteString(strings.ReplaceAll(html.EscapeString(s.Text), "\n", "<br>\n"))
		return
	}
	before, after, _ := strings.Cut(s.Text, address)
	escaped := html.EscapeString(address)
	w.WriteString(before + `<a href="` + escaped + `" rel="nofollow ugc noopener noreferrer">` + escaped + `</a>` + after)
}

// isWeb reports whether a text is the address of a web page, and nothing else.
func isWeb(text string) bool {
	return (strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")) && !strings.ContainsAny(text, " \t\n\"<>`")
}
