package approval

import (
	"errors"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/internal/wording"
)

// matchText reports whether a pattern matches all of a text. * stands for any characters.
func matchText(pattern, text string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return text == pattern
	}
	if !strings.HasPrefix(text, head) {
		return false
	}
	text = text[len(head):]
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, part)
		}
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text, rest = text[i+len(part):], after
	}
}

// anyWords stands for any number of words, or of directories in a path.
const anyWords = "**"

// matchWords reports whether patterns match all of the words. same compares a word with a pattern.
func matchWords(patterns, words []string, same func(pattern, word string) bool) bool {
	// As for text, the first place where the words after a ** match is the best one: it leaves
	// most to the rest. So each word is compared at most once with each pattern.
	head, rest, star := cut(patterns)
	if !star {
		return equal(head, words, same)
	}
	if len(words) < len(head) || !equal(head, words[:len(head)], same) {
		return false
	}
	words = words[len(head):]
	for {
		part, after, more := cut(rest)
		if !more {
			return len(words) >= len(part) && equal(part, words[len(words)-len(part):], same)
		}
		i := index(words, part, same)
		if i < 0 {
			return false
		}
		words, rest = words[i+len(part):], after
	}
}

// cut returns the patterns before and after the first **.
func cut(patterns []string) (before, after []string, found bool) {
	for i, p := range patterns {
		if p == anyWords {
			return patterns[:i], patterns[i+1:], true
		}
	}
	return patterns, nil, false
}

func equal(patterns, words []string, same func(pattern, word string) bool) bool {
	if len(patterns) != len(words) {
		return false
	}
	for i, p := range patterns {
		if !same(p, words[i]) {
			return false
		}
	}
	return true
}

func index(words, patterns []string, same func(pattern, word string) bool) int {
	for i := 0; i+len(patterns) <= len(words); i++ {
		if equal(patterns, words[i:i+len(patterns)], same) {
			return i
		}
	}
	return -1
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
