package terminal

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestReveal(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "plain\n\ttext ~", "plain\n\ttext ~"},
		{"empty", "", ""},
		{"other scripts", "日本語 עברית العربية हिन्दी", "日本語 עברית العربية हिन्दी"},
		{"zero width space", "a\u200bb", "a<U+200B>b"},
		{"tags that spell a command", "hi\U000e0072\U000e006d", "hi<U+E0072><U+E006D>"},
		{"override", "\u202etxt.exe", "<U+202E>txt.exe"},
		{"selectors as bytes", "😀\ufe00\U000e0100", "😀<U+FE00><U+E0100>"},
		{"colour", "\x1b[31mred", "<U+001B>[31mred"},
		{"C1", "a\u009b31m", "a<U+009B>31m"},
		{"CRLF", "a\r\nb", "a\nb"},
		{"CR alone", "a\rb", "a<U+000D>b"},
		{"separators", "a\u2028b\u0085c", "a<U+2028>b<U+0085>c"},
		{"NUL and delete", "\x00\x7f", "<U+0000><U+007F>"},
		{"Hangul filler", "a\u3164b", "a<U+3164>b"},
		{"empty Braille pattern", "a\u2800b⠁", "a<U+2800>b⠁"},
		{"place of an object", "a\ufffcb", "a<U+FFFC>b"},
		{"private use", "\ue000\uf8ff \U000f0000\U0010fffd", "<U+E000><U+F8FF> <U+F0000><U+10FFFD>"},
		{"what stands beside them", "\ud7fb\uf900\ufffd⣿", "\ud7fb\uf900\ufffd⣿"},
		{"joiner beside private use", "日\u200d\ue000\u200d日", "日<U+200D><U+E000><U+200D>日"},
		{"style of what stands for nothing", "\ufffc\ufe0f\u2800\ufe0f", "<U+FFFC><U+FE0F><U+2800><U+FE0F>"},
		{"joiner between Latin letters", "pay\u200dpal", "pay<U+200D>pal"},
		{"joiner after what was revealed", "\u200b\u200d日", "<U+200B><U+200D>日"},
		{"family", "👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"},
		{"heart", "❤\ufe0f", "❤\ufe0f"},
		{"Persian", "می\u200cخواهم", "می\u200cخواهم"},
		{"not UTF-8", "bad \xff", "bad \ufffd"},
		{"what looks revealed already", "<U+200B>", "<U+200B>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Reveal(tt.in)
			if got != tt.want {
				t.Errorf("Reveal(%q)\n got %q\nwant %q", tt.in, got, tt.want)
			}
			checkRevealed(t, tt.in)
		})
	}
	if got, want := RevealLine(" a\n\tb\u200b "), "a b<U+200B>"; got != want {
		t.Errorf("RevealLine = %q, want %q", got, want)
	}
}

func FuzzReveal(f *testing.F) {
	for _, seed := range []string{"", "plain", "\x1b[31mred", "a\r\n\r", "\u202ex", "👩\u200d💻", "❤\ufe0f\ufe0f", "\xff\u200b", "ක්\u200dෂ"} {
		f.Add(seed)
	}
	f.Fuzz(checkRevealed)
}

// checkRevealed says what holds for everything that was revealed: nothing in it is hidden
// any more, and nothing that can be seen was lost.
func checkRevealed(t *testing.T, in string) {
	t.Helper()
	out := Reveal(in)
	if !utf8.ValidString(out) {
		t.Errorf("Reveal(%q) = %q: not UTF-8", in, out)
	}
	if again := Reveal(out); again != out {
		t.Errorf("Reveal(%q) = %q, revealed again %q", in, out, again)
	}
	if clean := Clean(out); clean != out {
		t.Errorf("Reveal(%q) = %q, and cleaned %q", in, out, clean)
	}
	if line := RevealLine(in); strings.ContainsAny(line, "\n\t") {
		t.Errorf("RevealLine(%q) = %q", in, line)
	}
}
