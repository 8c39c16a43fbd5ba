package columns

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGraphemes(t *testing.T) {
	type grapheme struct {
		Text  string
		Width int
	}
	for text, want := range map[string][]grapheme{
		"":           nil,
		"ab":         {{"a", 1}, {"b", 1}},
		"e\u0301x":   {{"e\u0301", 1}, {"x", 1}},
		"日本":         {{"日", 2}, {"本", 2}},
		"👨‍👩‍👧!":     {{"👨‍👩‍👧", 2}, {"!", 1}},
		"👍🏽":         {{"👍🏽", 2}},
		"🇩🇪🇫🇷":       {{"🇩🇪", 2}, {"🇫🇷", 2}},
		"🇩":          {{"🇩", 2}},
		"❤\ufe0f":    {{"❤\ufe0f", 2}},
		"❤":          {{"❤", 1}},
		"1\ufe0f⃣":   {{"1\ufe0f⃣", 2}},
		"각":          {{"각", 2}},
		"\u0301":     {{"\u0301", 0}},
		"नि":         {{"नि", 1}},
		"\xff":       {{"\xff", 1}},
		"a\nb":       {{"a", 1}, {"\n", 1}, {"b", 1}},
		"\u200d":     {{"\u200d", 0}},
		"مرحبا"[:4]:  {{"م", 1}, {"ر", 1}},
		"ｗ":          {{"ｗ", 2}},
		"e\u0301\n日": {{"e\u0301", 1}, {"\n", 1}, {"日", 2}},
	} {
		var got []grapheme
		for g, width := range Graphemes(text) {
			got = append(got, grapheme{g, width})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

func FuzzGraphemes(f *testing.F) {
	f.Add("a👨‍👩‍👧e\u0301日\n\x00\xff🇩🇪🇫")
	f.Fuzz(func(t *testing.T, text string) {
		var all strings.Builder
		for g, width := range Graphemes(text) {
			if all.WriteString(g); g == "" || width < 0 || width > 2 {
				t.Errorf("%q in %q has %d columns", g, text, width)
			}
		}
		if all.String() != text {
			t.Errorf("%q became %q", text, all.String())
		}
	})
}

func TestClip(t *testing.T) {
	for _, tt := range []struct {
		text  string
		space int
		want  string
		left  int
	}{
		{"abc", 3, "abc", 0},
		{"abc", 5, "abc", 2},
		{"abcdef", 5, "ab...", 0},
		{"abcdef", 2, "..", 0},
		{"abcdef", 0, "", 0},
		{"", 0, "", 0},
		{"日本語", 6, "日本語", 0},
		{"日本語", 5, "日...", 0},
		{"日本語", 4, "...", 0},
		{"a·b", 3, "...", 0},     // some terminals draw the dot in two columns
		{"☀️☀️", 4, "☀️☀️", 0},   // and some draw a picture
		{"👩‍👩‍👧", 6, "👩‍👩‍👧", 0}, // and some three
		{"👩‍👩‍👧x", 6, "...", 0},
		{"e\u0301e", 2, "e\u0301e", 0},
	} {
		if got, left := Clip(tt.text, tt.space); got != tt.want || left != tt.left {
			t.Errorf("%q in %d: %q with %d left, want %q with %d", tt.text, tt.space, got, left, tt.want, tt.left)
		}
	}
}
