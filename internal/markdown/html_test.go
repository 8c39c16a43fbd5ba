package markdown

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestHTML(t *testing.T) {
	for _, tt := range []struct{ name, source, want string }{
		{"blocks", "# Title\n\nSome *words*, `code` and **more**.\n\n---\n", "<h3>Title</h3>\n<p>Some <em>words</em>, <code>code</code> and <strong>more</strong>.</p>\n<hr>\n"},
		{"tight list", "- a\n- b\n", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"},
		{"numbers", "3. a\n4. b\n", "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>\n"},
		{"quote", "> said\n", "<blockquote><p>said</p>\n</blockquote>\n"},
		{"listing", "```go\na < b\n```\n", "<pre>a &lt; b\n</pre>\n"},
		{"table", "| a | b |\n|---|---|\n| 1 | 2 |\n", "<table><tr><th>a</th>\n<th>b</th>\n</tr>\n<tr><td>1</td>\n<td>2</td>\n</tr>\n</table>\n"},
		{"link", "See [the page](https://a.example/?q=\"1&b).", "<p>See the page (https://a.example/?q=&#34;1&amp;b).</p>\n"},
		{"good link", "See [the page](https://a.example/?q=1&b).", "<p>See the page (<a href=\"https://a.example/?q=1&amp;b\" rel=\"nofollow ugc noopener noreferrer\">https://a.example/?q=1&amp;b</a>).</p>\n"},
		{"address", "<https://a.example>", "<p><a href=\"https://a.example\" rel=\"nofollow ugc noopener noreferrer\">https://a.example</a></p>\n"},
		{"script address", "[x](javascript:alert(1))", "<p>x (javascript:alert(1))</p>\n"},
		{"tags", "<script>alert(1)</script> <img src=x onerror=y>", "<p>&lt;script&gt;alert(1)&lt;/script&gt; &lt;img src=x onerror=y&gt;</p>\n"},
		{"right to left", "a\u202eb", "<p>ab</p>\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := HTML(tt.source); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// Whatever the text is: the HTML has the elements and attributes of this package, and no others.
func FuzzHTML(f *testing.F) {
	for _, source := range []string{"# a\n\n- [b](https://c)\n", "<b onclick=x>", "|a|\n|-|\n|<i>|\n", "`<`", "&lt;script&gt;", "[a](https://x\" onclick=\"y)", "1. > ```\n<x>"} {
		f.Add(source)
	}
	known := map[string]string{
		"h3": "", "p": "", "ul": "", "ol": "start", "li": "", "blockquote": "", "pre": "", "hr": "", "br": "", "table": "", "tr": "", "td": "", "th": "",
		"strong": "", "em": "", "s": "", "code": "", "a": "href rel",
	}
	f.Fuzz(func(t *testing.T, source string) {
		out := HTML(source)
		z := html.NewTokenizer(strings.NewReader(out))
		for kind := z.Next(); kind != html.ErrorToken; kind = z.Next() {
			token := z.Token()
			switch kind {
			case html.StartTagToken, html.SelfClosingTagToken:
				allowed, ok := known[token.Data]
				if !ok {
					t.Fatalf("element %q in %q", token.Data, out)
				}
				for _, a := range token.Attr {
					if !strings.Contains(" "+allowed+" ", " "+a.Key+" ") || a.Key == "href" && !strings.HasPrefix(a.Val, "http") {
						t.Fatalf("attribute %s=%q in %q", a.Key, a.Val, out)
					}
				}
			case html.CommentToken, html.DoctypeToken:
				t.Fatalf("%v in %q", token, out)
			}
		}
	})
}

// Text that costs more than it has is shown as it is: tables with many columns, and links and marks that are
// deep in each other. A row of a table has no more columns than its line.
func TestHostileSizes(t *testing.T) {
	wide := func(columns int) string {
		return strings.Repeat("|a", columns) + "|\n" + strings.Repeat("|-", columns) + "|\n" + strings.Repeat("|\n", 100)
	}
	nested := func(open, shut string, depth int) string {
		return strings.Repeat(open, depth) + "x" + strings.Repeat(shut, depth)
	}
	for _, tt := range []struct {
		name, source, with, without string
	}{
		{"table", wide(64), "<table>", ""},
		{"wide table", wide(65), "", "<table>"},
		{"links", nested("[", "](https://a.example)", 10), "<a ", "["},
		{"deep links", nested("[", "](https://a.example)", 1000), "[[[[", ""},
		{"marks", nested("*a ", " a*", 10), "<em>", "*"},
		{"deep marks", nested("*a ", " a*", 1000), "*a *a *a", ""},
	} {
		got := HTML(tt.source)
		if !strings.Contains(got, tt.with) || tt.without != "" && strings.Contains(got, tt.without) {
			t.Errorf("%s: %.300q", tt.name, got)
		}
		if most := 100 * len(tt.source); len(got) > most {
			t.Errorf("%s: %d bytes became %d", tt.name, len(tt.source), len(got))
		}
	}
}
