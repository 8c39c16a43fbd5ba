package terminal

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "plain\n\ttext ~", "plain\n\ttext ~"},
		{"other scripts", "日本語 Ελληνικά עברית العربية हिन्दी", "日本語 Ελληνικά עברית العربية हिन्दी"},
		{"empty", "", ""},

		// Control characters.
		{"C0", "a\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0e\x0f\x1a\x1c\x1fz", "az"},
		{"delete", "a\x7fz", "az"},
		{"backspace", "rm -rf\b\b\b\b\b\bls", "rm -rfls"},
		{"C1", "a\u0080\u0084\u0088\u008d\u0096\u009az", "az"},
		{"C1 as single bytes", "a\x9b31mz", "a\ufffd31mz"},

		// Ends of lines.
		{"CRLF", "a\r\nb", "a\nb"},
		{"CR alone", "danger\rharmless", "danger\nharmless"},
		{"CR before CRLF", "a\r\r\nb", "a\n\nb"},
		{"VT, FF, NEL", "a\vb\fc\u0085d", "a\nb\nc\nd"},
		{"separators", "a\u2028b\u2029c", "a\nb\nc"},

		// Sequences.
		{"colour", "\x1b[31mred\x1b[0m", "red"},
		{"colour with many parameters", "\x1b[38;2;255;0;0mred\x1b[m", "red"},
		{"private CSI", "\x1b[?1049hx\x1b[?25l\x1b[>c\x1b[0 qy", "xy"},
		{"cursor up and erase", "one\x1b[1A\x1b[2Ktwo", "onetwo"},
		{"8-bit CSI", "c1 \u009b31mred", "c1 red"},
		{"CSI without an end", "a\x1b[31", "a31"},
		{"CSI cut by text", "a\x1b[31\nb", "a31\nb"},
		{"CSI without an end", "\x1b[" + strings.Repeat("1;", 99) + "m", strings.Repeat("1;", 99) + "m"},
		{"title, BEL", "\x1b]0;title\x07rest", "rest"},
		{"title, ST", "\x1b]0;title\x1b\\rest", "rest"},
		{"title, 8-bit", "\u009d0;title\u009crest", "rest"},
		{"title, mixed", "\x1b]0;title\u009crest", "rest"},
		{"title without an end", "a\x1b]0;title and more", "a0;title and more"},
		{"title over two lines", "a\x1b]0;title\nmore\x07", "a0;title\nmore"},
		{"a page in a title", "\x1b]0;" + strings.Repeat("x", maxString) + "\x07", "0;" + strings.Repeat("x", maxString)},
		{"link", "\x1b]8;;https://evil.example\x1b\\bank\x1b]8;;\x1b\\", "bank"},
		{"clipboard", "\x1b]52;c;cm0gLXJm\x07x", "x"},
		{"DCS", "a\x1bPq#0;2\x1b\\z", "az"},
		{"8-bit DCS", "a\u0090q\u009cz", "az"},
		{"APC", "a\x1b_Gf=100\x1b\\z", "az"},
		{"8-bit APC", "a\u009fG\u009cz", "az"},
		{"PM and SOS", "a\x1b^pm\x1b\\b\x1bXsos\x1b\\c\u009epm\u009cd\u0098s\u009ce", "abcde"},
		{"nested", "a\x1b]0;\x1b[31m\x07b", "ab"},
		{"ESC inside ESC", "\x1b\x1b[31m[31mx", "[31mx"},
		{"charset", "a\x1b(0b\x1b)Bc", "abc"},
		{"reset", "a\x1bcb", "ab"},
		{"save, restore, keypad, index", "a\x1b7\x1b8\x1b=\x1b>\x1bD\x1bMb", "ab"},
		{"ESC without final", "a\x1b", "a"},
		{"ESC before a word", "a\x1bword", "aword"},
		{"ESC before a line", "a\x1b\nb", "a\nb"},
		{"ESC before another script", "a\x1b日", "a日"},
		{"lone ST", "a\x1b\\b\u009cc", "abc"},

		// Order of text.
		{"overrides", "left \u202egnp.exe\u202c \u202d\u202a\u202b", "left gnp.exe "},
		{"isolates", "\u2066a\u2067b\u2068c\u2069", "abc"},
		{"marks", "a\u200eb\u200fc\u061cd", "abcd"},

		// What draws nothing.
		{"tags", "x\U000e0001\U000e0041\U000e007fy", "xy"},
		{"flag of a region", "🏴\U000e0067\U000e0062\U000e007f", "🏴"},
		{"variation selectors supplement", "x\U000e0100\U000e01efy", "xy"},
		{"variation selectors as bytes", "😀\ufe00\ufe01\ufe0d", "😀"},
		{"a run of selectors", "❤\ufe0f\ufe0f\ufe0e\ufe0fz", "❤\ufe0fz"},
		{"selectors after what is no picture", "a.\ufe0fb>\ufe0e c+\ufe0f", "a.b> c+"},
		{"selector after a letter", "a\ufe0fb", "ab"},
		{"byte order mark", "\ufeffa\ufeffb", "ab"},
		{"zero width space, word joiner", "pay\u200bpal\u2060.com", "paypal.com"},
		{"soft hyphen", "in\u00advisible", "invisible"},
		{"invisible operators", "f\u2061x\u2062y\u2063z\u2064w", "fxyzw"},
		{"deprecated format", "a\u206a\u206fb", "ab"},
		{"annotations", "\ufff9a\ufffab\ufffb", "ab"},
		{"grapheme joiner", "a\u034fb", "ab"},
		{"Hangul fillers", "a\u115f\u1160\u3164\uffa0b", "ab"},
		{"empty Braille patterns", "a\u2800\u2800b", "ab"},
		{"place of an object", "see \ufffchere", "see here"},
		{"private use, also what a font may draw", "\ue0b0main\uf8ff\U000f0000\U000ffffd\U00100000\U0010fffd", "main"},
		{"joiner beside private use", "日\u200d\ue000\u200d日", "日\u200d日"},
		{"Mongolian vowel separator", "a\u180eb", "ab"},
		{"joiners between Latin letters", "pay\u200dp\u200cal", "paypal"},
		{"joiners at the ends", "\u200d日\u200d", "日"},
		{"a run of joiners", "👩\u200d\u200d\u200d💻", "👩\u200d💻"},
		{"joiner before a mark that goes", "👩\u200d\u202e💻", "👩💻"},

		// What stays.
		{"family", "👩\u200d👩\u200d👧\u200d👦", "👩\u200d👩\u200d👧\u200d👦"},
		{"skin and profession", "👩🏽\u200d🚀", "👩🏽\u200d🚀"},
		{"rainbow flag", "🏳\ufe0f\u200d🌈", "🏳\ufe0f\u200d🌈"},
		{"heart", "❤\ufe0f", "❤\ufe0f"},
		{"keycap", "1\ufe0f\u20e3", "1\ufe0f\u20e3"},
		{"flag", "🇯🇵", "🇯🇵"},
		{"Persian", "می\u200cخواهم", "می\u200cخواهم"},
		{"Sinhala", "ක්\u200dෂ", "ක්\u200dෂ"},
		{"Arabic number sign", "\u0600١٢", "\u0600١٢"},
		{"Braille", "⠓⠊ ⣿", "⠓⠊ ⣿"},
		{"beside private use", "\ud7fb\uf900\ufffd", "\ud7fb\uf900\ufffd"},
		{"no-break space", "a\u00a0b", "a\u00a0b"},

		// Broken encodings.
		{"not UTF-8", "bad \xff bytes \xc3(", "bad \ufffd bytes \ufffd("},
		{"lone surrogate", "a\xed\xa0\x80b", "a\ufffd\ufffd\ufffdb"},
		{"overlong ESC", "a\xc0\x9b[31mb", "a\ufffd\ufffd[31mb"},
		{"cut in a character", "日\xe6\x9c", "日\ufffd\ufffd"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Clean(tt.in)
			if got != tt.want {
				t.Errorf("Clean(%q)\n got %q\nwant %q", tt.in, got, tt.want)
			}
			check(t, tt.in, got)
		})
	}
}

func TestCleanLine(t *testing.T) {
	if got, want := CleanLine("  a\n\tb\x1b \r c \u2028d"), "a b c d"; got != want {
		t.Errorf("CleanLine = %q, want %q", got, want)
	}
}

// Text without anything to remove is not copied.
func TestCleanPlainCostsNothing(t *testing.T) {
	text := strings.Repeat("a line of plain text\n", 100)
	if n := testing.AllocsPerRun(10, func() { _ = Clean(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{
		"", "plain", "\x1b[31mred", "\x1b]0;t\x07", "\u009b1m", "a\rb", "\u202ex", "👩\u200d💻", "❤\ufe0f\ufe0f", "\xff\x1b", "\x1b\x1b]\x1b\\", "ක්\u200dෂ",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) { check(t, in, Clean(in)) })
}

// check says what holds for everything that was cleaned.
func check(t *testing.T, in, out string) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Errorf("Clean(%q) = %q: not UTF-8", in, out)
	}
	for _, r := range out {
		switch {
		case r == '\n' || r == '\t':
		case unicode.IsControl(r):
			t.Errorf("Clean(%q) = %q: has the control character %U", in, out, r)
		case unicode.Is(unicode.Bidi_Control, r):
			t.Errorf("Clean(%q) = %q: has the mark %U", in, out, r)
		case r == '\u2028' || r == '\u2029' || r == '\ufeff' || r >= 0xe0000 && r <= 0xe0fff,
			r == '\u2800' || r == '\ufffc' || unicode.Is(unicode.Co, r):
			t.Errorf("Clean(%q) = %q: has %U", in, out, r)
		}
	}
	if again := Clean(out); again != out {
		t.Errorf("Clean(%q) = %q, cleaned again %q", in, out, again)
	}
	if line := CleanLine(in); strings.ContainsAny(line, "\n\t") {
		t.Errorf("CleanLine(%q) = %q", in, line)
	}
}
