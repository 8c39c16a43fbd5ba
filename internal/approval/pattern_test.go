package approval

import (
	"regexp"
	"strings"
	"testing"
)

// Package regexp is the oracle for both kinds of patterns.
func FuzzMatchText(f *testing.F) {
	for _, seed := range [][2]string{{"a*b", "axxb"}, {"*", ""}, {"a*a", "a"}, {"*ab*ab*", "xabab"}, {"a**b", "ab"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		var parts []string
		for part := range strings.SplitSeq(pattern, "*") {
			parts = append(parts, regexp.QuoteMeta(part))
		}
		want, err := regexp.MatchString(`(?s)\A`+strings.Join(parts, ".*")+`\z`, text)
		if err != nil {
			t.Skip() // not valid UTF-8
		}
		if got := matchText(pattern, text); got != want {
			t.Errorf("%q and %q: %v", pattern, text, got)
		}
	})
}

func FuzzMatchWords(f *testing.F) {
	for _, seed := range [][2]string{{"git ** push **", "git -C x push"}, {"** a ** a", "a"}, {"**", ""}, {"a ** ** b", "a b"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		patterns, words := strings.Fields(pattern), strings.Fields(text)
		expression := `\A`
		for _, p := range patterns {
			if p == anyWords {
				expression += `(?:\S+ )*`
				continue
			}
			expression += strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, `\S*`) + " "
		}
		joined := ""
		for _, w := range words {
			joined += w + " "
		}
		want, err := regexp.MatchString(expression+`\z`, joined)
		if err != nil {
			t.Skip()
		}
		if got := matchWords(patterns, words); got != want {
			t.Errorf("%q and %q: %v", patterns, words, got)
		}
	})
}
