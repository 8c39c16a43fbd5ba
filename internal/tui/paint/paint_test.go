package paint

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/internal/markdown"
)

func TestDraw(t *testing.T) {
	line := Line{{Text: "a"}, {Text: "b", Style: Bold | Red}, {Text: "c", Style: Reverse}, {Text: "d", Style: markdown.Code}, {Text: "e", Style: Quiet}}
	for name, tt := range map[string]struct {
		palette Palette
		want    string
	}{
		"colours":    {Palette{Color: true}, "a\x1b[1;31mb\x1b[0m\x1b[7mc\x1b[0m\x1b[36md\x1b[0m\x1b[2me\x1b[0m"},
		"no colours": {Palette{}, "a\x1b[1mb\x1b[0m\x1b[1mc\x1b[0mde"},
	} {
		if got := tt.palette.Draw(line); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	if got := (Palette{}).Screen([]Line{Text("a", 0), nil, Text("b", 0)}); got != "a\n\nb" {
		t.Errorf("%q", got)
	}
}

// No style of ours is one of Markdown's, and none is drawn in white or yellow.
func TestStyles(t *testing.T) {
	seen := Style(0)
	for _, s := range []Style{markdown.Bold, markdown.Italic, markdown.Code, markdown.Struck, markdown.Quiet, Reverse, Red, Green, Blue, Magenta, Cyan} {
		if seen&s != 0 || s == 0 {
			t.Errorf("style %b is there twice", s)
		}
		seen |= s
		drawn := Palette{Color: true}.Draw(Text("x", s))
		for _, code := range []string{"33", "37", "93", "97", "38"} {
			if strings.Contains(drawn, code) {
				t.Errorf("style %b is drawn as %q", s, drawn)
			}
		}
		if drawn == "x" {
			t.Errorf("style %b shows nothing", s)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		text  string
		space int
		want  string
	}{
		{"abcdef", 6, "abcdef"}, {"abcdef", 5, "ab..."}, {"abcdef", 3, "..."}, {"abcdef", 2, ".."}, {"abcdef", 0, ""}, {"abcdef", -4, ""},
		{"", 0, ""}, {"日本語", 5, "日..."}, {"日本語", 4, "..."}, {"日本語", 6, "日本語"}, {"👨‍👩‍👧👨‍👩‍👧", 4, "👨‍👩‍👧👨‍👩‍👧"}, {"e\u0301e\u0301", 2, "e\u0301e\u0301"},
	} {
		if got := CutText(tt.text, tt.space); got != tt.want {
			t.Errorf("%q in %d columns: %q, want %q", tt.text, tt.space, got, tt.want)
		}
	}
	styled := Line{{Text: "ab", Style: Red}, {Text: "cdefg", Style: Bold}}
	if diff := cmp.Diff(Line{{Text: "ab", Style: Red}, {Text: "c", Style: Bold}, {Text: "..."}}, Cut(styled, 6)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Line{{Text: "ab", Style: Red}, {Text: "cdefg", Style: Bold}, {Text: "  "}}, Fit(styled, 9)); diff != "" {
		t.Error(diff)
	}
}

func TestHighlight(t *testing.T) {
	line := Line{{Text: "abc", Style: Red}, {Text: "def"}}
	want := Line{{Text: "a", Style: Red}, {Text: "bc", Style: Red | Reverse}, {Text: "de", Style: Reverse}, {Text: "f"}}
	if diff := cmp.Diff(want, Highlight(line, 1, 5, Reverse)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(line, Highlight(line, 6, 9, Reverse)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Line{{Text: "abc", Style: Red | Bold}, {Text: "def", Style: Bold}}, Restyle(line, Bold)); diff != "" {
		t.Error(diff)
	}
}

// Whatever is cut, the parts are what was there, and what must fit does.
func TestCutProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"a", " ", "日", "e\u0301", "👨‍👩‍👧", "🇩🇪", "❤\ufe0f", "long word", "\u0301"})
		var line Line
		for range rapid.IntRange(0, 5).Draw(t, "spans") {
			line = append(line, Span{Text: strings.Join(rapid.SliceOfN(piece, 1, 6).Draw(t, "text"), ""), Style: Style(rapid.IntRange(0, 3).Draw(t, "style"))})
		}
		space := rapid.IntRange(-1, 30).Draw(t, "columns")
		fit, rest := Split(line, space)
		if fit.Text()+rest.Text() != line.Text() || space >= 0 && Width(fit) > space {
			t.Errorf("%q in %d columns: %q and %q", line.Text(), space, fit.Text(), rest.Text())
		}
		if got := Width(Fit(line, space)); got != max(space, 0) {
			t.Errorf("%q in %d columns has %d", line.Text(), space, got)
		}
		begin, end := rapid.IntRange(-1, 20).Draw(t, "begin"), rapid.IntRange(-1, 20).Draw(t, "end")
		if got := Highlight(line, begin, end, Reverse).Text(); got != line.Text() {
			t.Errorf("%q became %q", line.Text(), got)
		}
	})
}
