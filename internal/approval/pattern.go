package approval

import (
	"errors"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/internal/wording"
)

// matchText reports whether a pattern matches all of a text. * stands for any characters.
func matchText(pattern, text string) bool {
	if pattern != "" && pattern[0] != '*' && (text == "" || text[0] != pattern[0]) {
		return false // most patterns of a long list
	}
	i := strings.IndexByte(pattern, '*')
	if i < 0 {
		return text == pattern
	}
	if len(text) < i || text[:i] != pattern[:i] {
		return false
	}
	text, pattern = text[i:], pattern[i+1:]
	for {
		part, after, more := strings.Cut(pattern, "*")
		if !more {
			return strings.HasSuffix(text, part)
		}
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text, pattern = text[i+len(part):], after
	}
}

// anyWords stands for any number of words, or of directories in a path.
const anyWords = "**"

// matchWords reports whether patterns match all of the words.
func matchWords(patterns, words []string) bool {
	// As for text, the first place where the words after a ** match is the best one: it leaves
	// most to the rest. So each word is compared at most once with each pattern.
	head := before(patterns)
	if head == len(patterns) {
		return len(words) == head && startsWith(words, patterns)
	}
	if !startsWith(words, patterns[:head]) {
		return false
	}
	words, patterns = words[head:], patterns[head+1:]
	for {
		n := before(patterns)
		part := patterns[:n]
		if n == len(patterns) {
			return len(words) >= n && startsWith(words[len(words)-n:], part)
		}
		for !startsWith(words, part) {
			if len(words) <= n {
				return false
			}
			words = words[1:]
		}
		words, patterns = words[n:], patterns[n+1:]
	}
}

// before returns the number of patterns before the first **.
func before(patterns []string) int {
	for i, p := range patterns {
		if p == anyWords {
			return i
		}
	}
	return len(patterns)
}

// startsWith reports whether the first words match the patterns.
func startsWith(words, patterns []string) bool {
	if len(words) < len(patterns) {
		return false
	}
	for i, p := range patterns {
		if !matchText(p, words[i]) {
			return false
		}
	}
	return true
}

// shellCharacters mean something to a shell. A rule compares words, so they would not mean that.
const shellCharacters = "$;|&<>()\\\"'`"

// SplitCommand returns the words of a command that is written as one text.
func SplitCommand(text string) ([]string, error) {
	if i := strings.IndexAny(text, shellCharacters); i >= 0 {
		return nil, fmt.Errorf("%s has %q, and no shell reads it; write the words as a list", wording.Quote(text), text[i])
	}
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, errors.New("the command is empty")
	}
	return words, nil
}
