package terminal_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/testkit"
)

func TestQuote(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "push", `"push"`},
		{"empty", "", `""`},
		{"quotes and backslashes", `a"b\c\n`, `"a\"b\\c\\n"`},
		{"two words that look like three", `a" "b`, `"a\" \"b"`},
		{"lines and tabs", "a\nb\tc\rd", `"a\nb\tc\rd"`},
		{"ANSI", "\x1b[2K\x1b]0;t\x07", `"\u{1b}[2K\u{1b}]0;t\u{7}"`},
		{"C1 and delete", "\u009b1m\x7f", `"\u{9b}1m\u{7f}"`},
		{"override", "\u202etxt.exe\u2069", `"\u{202e}txt.exe\u{2069}"`},
		{"zero width", "a\u200b\u200d\ufeffb", `"a\u{200b}\u{200d}\u{feff}b"`},
		{"blanks that are none", "a\u00a0b\u3000c\u2003", `"a\u{a0}b\u{3000}c\u{2003}"`},
		{"fillers, tags, private use", "\u3164\U000e0041\ue000\u2800", `"\u{3164}\u{e0041}\u{e000}\u{2800}"`},
		{"unassigned", "\U000bcdef", `"\u{bcdef}"`},
		{"separators", "a\u2028b", `"a\u{2028}b"`},
		{"lookalike quotes", "a” “b＂＼", `"a\u{201d} \u{201c}b\u{ff02}\u{ff3c}"`},
		{"some blanks", strings.Repeat(" ", 16) + "x", `"                x"`},
		{"many blanks", "x" + strings.Repeat(" ", 17) + "y", `"x\s{17}y"`},
		{"what looks like an escape", `\s{17}\u{200b}`, `"\\s{17}\\u{200b}"`},
		{"other scripts", "日本語 हिन्दी é", `"日本語 हिन्दी é"`},
		{"accent on our quote", "\u0301a", `"\u{301}a"`},
		{"accent on a quote of the word", "\"\u0338", `"\"\u{338}"`},
		{"a pile of accents", "a" + strings.Repeat("\u0300", 6), `"a` + strings.Repeat("\u0300", 4) + `\u{300}\u{300}"`},
		{"not UTF-8", "bad \xff\xc3(", `"bad \xff\xc3("`},
		{"replacement character", "\ufffd", "\"\ufffd\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := terminal.Quote(tt.in); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			checkQuoted(t, tt.in)
		})
	}
}

func TestQuoteLines(t *testing.T) {
	for in, want := range map[string][]string{
		"a":            {`"a"`},
		"a\nb":         {`"a\n`, `b"`},
		"a\n":          {`"a\n"`},
		"\n\nb":        {`"\n`, `\n`, `b"`},
		"a\\nb":        {`"a\\nb"`},
		"a\\\nb":       {`"a\\\n`, `b"`},
		"":             {`""`},
		"echo \"\nx\"": {`"echo \"\n`, `x\""`},
	} {
		if got := terminal.QuoteLines(in); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// checkQuoted says what holds for every quoted word: it can be read back, so no other word is
// quoted in the same way, and nothing in it is hidden.
func checkQuoted(t *testing.T, word string) {
	t.Helper()
	quoted := terminal.Quote(word)
	if got, err := testkit.ReadQuoted(quoted); err != nil || len(got) != 1 || got[0] != word {
		t.Errorf("%q is quoted as %s, which reads %q, %v", word, quoted, got, err)
	}
	if joined := strings.Join(terminal.QuoteLines(word), ""); joined != quoted {
		t.Errorf("the lines of %q are %s, want %s", word, joined, quoted)
	}
	wantHarmless(t, quoted)
}

// wantHarmless fails if a terminal would obey something, or draw nothing for it.
func wantHarmless(t *testing.T, shown string) {
	t.Helper()
	if !utf8.ValidString(shown) || terminal.Clean(shown) != shown || strings.ContainsFunc(shown, unicode.IsControl) {
		t.Errorf("%q is not safe to print", shown)
	}
	if strings.Contains(shown, strings.Repeat(" ", 17)) {
		t.Errorf("%q hides text behind blanks", shown)
	}
}

func TestShow(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"lines", "a\nb", []string{"a", "b"}},
		{"hidden", "a\u200bb\x1b[1m", []string{"a<U+200B>b<U+001B>[1m"}},
		{"carriage returns", "a\r\nb\rc", []string{"a<U+000D>", "b<U+000D>c"}},
		{"tab", "\tx\\t", []string{`→   x\t`}},
		{"few blanks", "        x", []string{"        x"}},
		{"many blanks", "x" + strings.Repeat(" ", 10) + strings.Repeat("\u3000", 10) + "rm", []string{"x<20 blanks>rm"}},
		{"few empty lines", "a\n\n\n\nb\n", []string{"a", "", "", "", "b", ""}},
		{"many empty lines", "a\n" + strings.Repeat("  \n", 50) + "b", []string{"a", "<50 empty lines>", "b"}},
		{"empty lines at the end", "a" + strings.Repeat("\n", 5), []string{"a", "<5 empty lines>"}},
		{"emoji", "⚠\ufe0f 1\ufe0f\u20e3 👩\u200d💻 é", []string{"⚠\ufe0f 1\ufe0f\u20e3 👩\u200d💻 é"}},
		{"a pile of accents", "a" + strings.Repeat("\u0300", 6), []string{"a" + strings.Repeat("\u0300", 4) + "<U+0300><U+0300>"}},
	}
	for _, tt := range tests {
		if got := terminal.Show(tt.in); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if got, want := terminal.ShowLine("a\nb\r"), "a<U+000A>b<U+000D>"; got != want {
		t.Errorf("ShowLine: %q, want %q", got, want)
	}
}

func FuzzQuote(f *testing.F) {
	for _, seed := range []string{"", "plain", "\x1b[31mred", "a\r\n\r", "\u202ex", "❤\ufe0f\ufe0f", "\xff\u200b", `\"\n`, strings.Repeat(" ", 40), "a\u0301\u0301\u0301\u0301\u0301", "”"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkQuoted(t, text)
		for _, line := range terminal.Show(text) {
			wantHarmless(t, line)
		}
		wantHarmless(t, terminal.ShowLine(text))
	})
}
