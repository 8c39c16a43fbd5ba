package columns

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestOf(t *testing.T) {
	for text, want := range map[string]int{"": 0, "abc": 3, "äö": 2, "日本語": 6, "ｗｉｄｅ": 8, "ｶﾅ": 2, "e\u0301": 1, "📁": 2, "한글": 4, "→": 1, "└": 1} {
		if got := Of(text); got != want {
			t.Errorf("Of(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, test := range []struct {
		text  string
		space int
		want  string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdefg", 6, "abc..."},
		{"日本語", 6, "日本語"},
		{"日本語日", 6, "日..."},
		{"日本語日", 7, "日本..."},
		{"abcde\u0301f", 5, "ab..."},
	} {
		if got := Shorten(test.text, test.space); got != test.want {
			t.Errorf("Shorten(%q, %d) = %q, want %q", test.text, test.space, got, test.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		text  string
		space int
		want  []string
	}{
		{"", 10, []string{""}},
		{"a b  c", 10, []string{"a b  c"}},
		{"one two three", 7, []string{"one two", "three"}},
		{"one two ", 7, []string{"one two"}},
		{"  one two three", 7, []string{"  one", "  two", "  three"}},
		{"      x y z", 7, []string{"      x", "y z"}},
		{"a https://long.example b", 8, []string{"a", "https://long.example", "b"}},
		{"日本語日本語", 7, []string{"日本語", "日本語"}},
		{"日本 abc日", 8, []string{"日本 abc", "日"}},
		{"か\u3099か\u3099か", 4, []string{"か\u3099か\u3099", "か"}},
	} {
		if got := Wrap(test.text, test.space); !slices.Equal(got, test.want) {
			t.Errorf("Wrap(%q, %d) = %q, want %q", test.text, test.space, got, test.want)
		}
	}
}

// Nothing is lost, and a line runs over only if it is one word.
func TestWrapKeepsEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab 日本\u3099 é-")), 0, 60, -1).Draw(t, "text")
		space := rapid.IntRange(4, 20).Draw(t, "space")
		lines := Wrap(text, space)
		if got, want := strings.ReplaceAll(strings.Join(lines, ""), " ", ""), strings.ReplaceAll(text, " ", ""); got != want {
			t.Fatalf("Wrap(%q) = %q", text, lines)
		}
		for _, l := range lines {
			if Of(l) > space && len(slices.Collect(words(l))) > 1 {
				t.Errorf("%q has more than %d columns", l, space)
			}
		}
	})
}

func words(text string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, word := range units(text) {
			if !yield(word) {
				return
			}
		}
	}
}

func TestBreak(t *testing.T) {
	for _, tt := range []struct {
		text  string
		space int
		want  []string
	}{
		{"", 10, []string{""}},
		{"one two", 10, []string{"one two"}},
		{"one two three four", 10, []string{"one two", " three", " four"}},
		{"a  b", 3, []string{"a ", " b"}},
		{"a bcdefghijkl", 6, []string{"a bcde", "fghijk", "l"}},
		{"日本語", 5, []string{"日本", "語"}},
		{"ααα", 4, []string{"αα", "α"}},
		{"e\u0301e\u0301", 2, []string{"e\u0301e\u0301"}},
		{"日", 0, []string{"日"}},
	} {
		if got := Break(tt.text, tt.space); !slices.Equal(got, tt.want) {
			t.Errorf("Break(%q, %d) = %q, want %q", tt.text, tt.space, got, tt.want)
		}
	}
}

func FuzzBreak(f *testing.F) {
	f.Add("one two 日本語 three", 7)
	f.Add(strings.Repeat("x ", 30), 3)
	f.Fuzz(func(t *testing.T, text string, space int) {
		lines := Break(text, space)
		if strings.Join(lines, "") != text {
			t.Errorf("Break(%q, %d) = %q", text, space, lines)
		}
		for _, line := range lines {
			if Of(line) > max(space, 2) {
				t.Errorf("Break(%q, %d) has the line %q", text, space, line)
			}
		}
	})
}
