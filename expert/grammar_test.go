package expert

import (
	"regexp"
	"strings"
	"testing"
)

var grammars = []struct {
	pattern *regexp.Regexp
	match   func(string) bool
}{
	{regexp.MustCompile(KeyPattern), func(s string) bool { _, ok := cutKey(s); return ok }},
	{regexp.MustCompile(NamePattern), func(s string) bool { return isScoped(s, "_-") }},
	{regexp.MustCompile(VersionPattern), isVersion},
	{regexp.MustCompile(TagPattern), func(s string) bool { return isWord(s, lower, "_-") }},
	{regexp.MustCompile(VariablePattern), func(s string) bool { return isWord(s, upper+lower, "_-") }},
}

// compareGrammars compares the functions with the patterns that the JSON Schema states.
func compareGrammars(t *testing.T, s string) {
	t.Helper()
	for _, g := range grammars {
		if got, want := g.match(s), g.pattern.MatchString(s); got != want {
			t.Errorf("%q: %v, but the pattern %s says %v", s, got, g.pattern, want)
		}
	}
	var want Key
	if m := grammars[0].pattern.FindStringSubmatch(s); m != nil {
		want = Key{Name: m[1], Version: m[2], Tag: m[3]}
	}
	if got, _ := cutKey(s); got != want {
		t.Errorf("%q: %+v, want %+v", s, got, want)
	}
}

// All texts of three pieces, alone and after the beginning of a key or a version.
func TestGrammars(t *testing.T) {
	pieces := []string{"@", "/", ".", "-", "+", "_", "0", "10", "a", "A", "é", "\n"}
	var grow func(s string, more int)
	grow = func(s string, more int) {
		compareGrammars(t, s)
		if more == 0 || t.Failed() {
			return
		}
		for _, piece := range pieces {
			grow(s+piece, more-1)
		}
	}
	for _, start := range []string{"", "a@1.0", "@a/b@1.2.3", "1.0.0-a"} {
		grow(start, 3)
	}
	compareGrammars(t, strings.Repeat("a", 1000))
}

func FuzzGrammars(f *testing.F) {
	for _, s := range []string{"a", "@a/b", "a@1.0.0-rc.1+x", "a@latest", "1.0.0+a-b", "A_B", "@a/b@01.0.0"} {
		f.Add(s)
	}
	f.Fuzz(compareGrammars)
}
