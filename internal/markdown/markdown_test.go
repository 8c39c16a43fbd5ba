package markdown

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/columns"
)

// shown draws lines with marks for their styles.
func shown(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		for _, s := range l {
			mark := ""
			for i, letter := range []string{"B", "I", "C", "S", "Q"} {
				if s.Style&(1<<i) != 0 {
					mark += letter
				}
			}
			if mark == "" {
				b.WriteString(s.Text)
			} else {
				fmt.Fprintf(&b, "{%s %s}", mark, s.Text)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestRender(t *testing.T) {
	for _, tt := range []struct{ name, source, want string }{
		{"nothing", " \n\n", ""},
		{"paragraphs", "one two\nthree\n\nfour", "one two three\n\nfour\n"},
		{"wrapped", "aaaa bbbb cccc dddd eeee ffff gggg", "aaaa bbbb cccc dddd\neeee ffff gggg\n"},
		{"a long word", "a https://example.com/a/very/long/path", "a\nhttps://example.com/\na/very/long/path\n"},
		{"heading", "# Title *now*\ntext", "{B Title }{BI now}\n\ntext\n"},
		{"styles", "**b** *i* `c \\*` ~~s~~", "{B b} {I i} {C c \\*} {S s}\n"},
		{"marks that are text", "2 * 3 * 4 **a snake_case_name ~x~ [a] (b) !c", "2 * 3 * 4 **a\nsnake_case_name ~x~\n[a] (b) !c\n"},
		{"nested marks", "***a*** **b *c* d**", "{BI a} {B b }{BI c}{B  d}\n"},
		{"a mark of another kind", "*a _b* c_", "{I a _b} c_\n"},
		{"a link in marks", "**[a *b*](x)**", "{B a }{BI b}{BQ  (x)}\n"},
		{"marks across a link", "*a [b*](c)", "*a b*{Q  (c)}\n"},
		{"image", "![a](b.png \"t\") [](c)", "a{Q  (b.png)} {Q c}\n"},
		{"code with backticks", "`` a`b `` ` c", "{C a`b} ` c\n"},
		{"underlined", "a\n===\nb\n---", "{B a}\n\n{B b}\n"},
		{"numbers", "7) a\n8) b\n1. c", "7. a\n8. b\n\n1. c\n"},
		{"a list after text", "a\n- b\n3. c", "a\n\n• b\n\n3. c\n"},
		{"a bar in a table", "a | b\n-|-\n`x\\|y` |", "{B a}    {B b}\n{Q ───  ─}\n{C x|y}\n"},
		{"escapes", `\*a\* &amp; &lt;b&gt; &#27;[2J`, "*a* & <b> [2J\n"},
		{"link", "[a](https://b.example) <https://c.example>", "a\n{Q (https://b.example)}\nhttps://c.example\n"},
		{"hard break", "a  \nb\\\nc", "a\nb\nc\n"},
		{"list", "- a\n- b\n  c\n    - d", "• a\n• b c\n  • d\n"},
		{"loose list", "1. a\n\n   b\n\n2. c", "1. a\n\n   b\n\n2. c\n"},
		{"tasks", "- [x] a\n- [ ] b\n-", "• [x] a\n• [ ] b\n•\n"},
		{"quote", "> a\n> > b", "{Q │ }a\n{Q │}\n{Q │ │ }b\n"},
		{"code block", "a\n```go\nx := 1\n\n\ty\n```\nb", "a\n\n{C x := 1}\n\n{C     y}\n\nb\n"},
		{"two code blocks", "```\na\n```\n```\nb\n```", "{C a}\n\n{C b}\n"},
		{"open code block", "```\na", "{C a}\n"},
		{"code block in a list", "- a\n  ```\n  x\n  ```", "• a\n  {C   x}\n"},
		{"indented code", "a\n\n    x", "a\n\n{C   x}\n"},
		{"rule", "a\n\n---\n\nb", "a\n\n{Q ────────────────────}\n\nb\n"},
		{"html", "<b>x</b> y\n\n<!-- c\n-->", "<b>x</b> y\n\n{C <!-- c}\n{C -->}\n"},
		{"table", "| a | bb |\n|--:|---|\n| 1 | **2** |", "{B a}  {B bb}\n{Q ─  ──}\n1  {B 2}\n"},
		{"wide table", "| first | second |\n|---|---|\n| 1 | some words to wrap |\n| 3 | 4 |",
			"{B first}: 1\n{B second}: some words\nto wrap\n\n{B first}: 3\n{B second}: 4\n"},
		{"controls", "a\x1b[31mb\rc\u202e", "ab c\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, shown(Render(tt.source, Options{Width: 20}))); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestASCII(t *testing.T) {
	got := shown(Render("- a\n\n> b\n\n---\n\n|a|\n|-|\n|b|", Options{Width: 20, ASCII: true}))
	if want := "- a\n\n{Q | }b\n\n{Q --------------------}\n\n{B a}\n{Q -}\nb\n"; got != want {
		t.Error(cmp.Diff(want, got))
	}
}

// Long lines are finished piece by piece, wherever the pieces end, and nothing of them is lost.
func TestLongLines(t *testing.T) {
	o := Options{Width: 50}
	for _, source := range []string{strings.Repeat("a ", 20<<10), "- " + strings.Repeat("*a_[", 9<<10) + "\n```\n" + strings.Repeat("日", 9<<10), strings.Repeat("- a\n", 20<<10)} {
		s := NewStream(o)
		var got []Line
		most := 0
		for rest := source; rest != ""; {
			n := min(777, len(rest))
			got = append(got, s.Write(rest[:n])...)
			rest = rest[n:]
			most = max(most, len(s.Open()))
		}
		got = append(got, s.Close()...)
		if d := cmp.Diff(Render(source, o), got); d != "" {
			t.Errorf("-whole +stream\n%s", d)
		}
		if most > maxBlock/2 {
			t.Errorf("%d lines were open", most)
		}
		var all strings.Builder
		for _, l := range got {
			all.WriteString(l.Text())
		}
		if want := strings.Count(source, "a") + strings.Count(source, "日"); strings.Count(all.String(), "a")+strings.Count(all.String(), "日") != want {
			t.Error("some of it is lost")
		}
	}
}

// However text is cut into pieces, a stream returns the lines of the whole, each once. What is open is
// what is left if the text ends there.
func FuzzStream(f *testing.F) {
	for _, source := range []string{
		"# a\n\nb **c\nd** e\n\n- f\n\n- g\n  ```\n  h\n  ```\n\n> i\n\n```go\nj\n\nk\n```\nl", "1. a\n2. b\n\n\nc", "|a|b|\n|-|-|\n|c|d|", "~~~\n```\n~~~\n```\n~~~",
		"a\x1b]0;b\n\nc\x07d", "日本語 *日本*\n\n👩\u200d👩\u200d👧", "- \n\n  a\n\n\tb", strings.Repeat("> ", 30) + "a", "<div>\n\na\n\n</div>", "&#x1b;[2J &#10; &Tab;",
	} {
		f.Add(source, uint(7), 30)
	}
	f.Fuzz(func(t *testing.T, source string, seed uint, width int) {
		o := Options{Width: min(max(width, 0), 200)}
		s := NewStream(o)
		var got []Line
		for rest := source; rest != ""; {
			seed = seed*1664525 + 1013904223
			n := min(1+int(seed>>16%9), len(rest))
			got = append(got, s.Write(rest[:n])...)
			rest = rest[n:]
			if done := source[:len(source)-len(rest)]; seed%4 == 0 {
				if d := cmp.Diff(Render(done, o), append(got[:len(got):len(got)], s.Open()...)); d != "" {
					t.Errorf("open after %q (-whole +stream):\n%s", done, d)
				}
				if d := cmp.Diff(Render(source, o), append(got[:len(got):len(got)], s.OpenWith(rest)...)); d != "" {
					t.Errorf("open after %q, with the rest (-whole +stream):\n%s", done, d)
				}
			}
		}
		got = append(got, s.Close()...)
		if d := cmp.Diff(Render(source, o), got); d != "" {
			t.Errorf("%q (-whole +stream):\n%s", source, d)
		}
		for _, l := range got {
			if text := l.Text(); columns.Of(text) > max(o.Width, MinWidth) || strings.ContainsFunc(text, unicode.IsControl) {
				t.Errorf("%q has the line %q", source, text)
			}
		}
	})
}
