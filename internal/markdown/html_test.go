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
