package workspace

import (
	"errors"
	"fmt"
	"strings"
)

// A pattern is one pattern of a .gitignore file, without "!" and without a slash at its end. It
// is matched byte by byte, as git does: "?" is one byte, and letter case counts.
type pattern struct {
	tokens   []token
	lastName bool // without a slash, the pattern is matched against the last name of a path
	dirOnly  bool // it ended in a slash
}

// A token is one element of a pattern.
type token struct {
	kind tokenKind
	byte byte     // of a literal
	set  *byteSet // of a class
}

// A byteSet has a bit for each byte. A .gitignore file can have a set for every three bytes.
type byteSet [256 / 64]uint64

func (s *byteSet) has(b byte) bool { return s[b>>6]&(1<<(b&63)) != 0 }

func (s *byteSet) add(from, to int) {
	for b := from; b <= to; b++ {
		s[b>>6] |= 1 << (b & 63)
	}
}

// notSlash is the set of every "?".
var notSlash, _, _ = parseClass("[^/]")

type tokenKind byte

const (
	literal  tokenKind = iota
	class              // one of several bytes
	star               // "*": any bytes but a slash
	anyPath            // "**": any bytes
	anyDirs            // "**/": nothing, or any bytes and a slash
	mismatch           // a pattern with it matches nothing
)

// parsePattern never fails: to git, a malformed pattern is one that matches nothing.
func parsePattern(text string) pattern {
	text, dirOnly := strings.CutSuffix(text, "/")
	p := pattern{dirOnly: dirOnly, lastName: !strings.Contains(text, "/")}
	text = strings.TrimPrefix(text, "/")
	if text == "" {
		p.tokens = []token{{kind: mismatch}}
		return p
	}
	// git compares the text before the first wildcard by itself, so that "**" directly behind it
	// is at the beginning of a pattern.
	wildcard := strings.IndexAny(text, `*?[\`)
	for i := 0; i < len(text); {
		t, size := nextToken(text[i:], i == 0 || i == wildcard || text[i-1] == '/')
		p.tokens = append(p.tokens, t)
		i += size
	}
	return p
}

// nextToken returns the first token of a text and its length. atStart says that the text is the
// beginning of a name or of the pattern.
func nextToken(text string, atStart bool) (token, int) {
	switch text[0] {
	case '*':
		stars := len(text) - len(strings.TrimLeft(text, "*"))
		rest := text[stars:]
		switch {
		case stars == 1 || !atStart:
			return token{kind: star}, stars
		case rest == "" || strings.HasPrefix(rest, `\/`):
			return token{kind: anyPath}, stars
		case rest[0] == '/':
			return token{kind: anyDirs}, stars + 1
		}
		return token{kind: star}, stars
	case '?':
		return token{kind: class, set: notSlash}, 1
	case '[':
		if set, size, ok := parseClass(text); ok {
			return token{kind: class, set: set}, size
		}
		return token{kind: mismatch}, len(text)
	case '\\':
		if len(text) == 1 {
			return token{kind: mismatch}, 1
		}
		return token{byte: text[1]}, 2
	}
	return token{byte: text[0]}, 1
}

// parseClass parses "[…]", which never matches a slash.
func parseClass(text string) (set *byteSet, size int, ok bool) {
	set = new(byteSet)
	i, negated := 1, false
	if i < len(text) && (text[i] == '!' || text[i] == '^') {
		i, negated = i+1, true
	}
	plain := 0 // "[:" before it does not begin the name of a class
	for first, previous := true, -1; ; first = false {
		if i >= len(text) {
			return nil, 0, false // without an end
		}
		if text[i] == ']' && !first {
			break
		}
		if i >= plain && strings.HasPrefix(text[i:], "[:") {
			end := strings.IndexByte(text[i:], ']')
			if end < 0 {
				return nil, 0, false
			}
			if name, ok := strings.CutSuffix(text[i+len("[:"):i+end], ":"); ok {
				ranges, known := classes[name]
				if !known {
					return nil, 0, false
				}
				for ; ranges != ""; ranges = ranges[2:] {
					set.add(int(ranges[0]), int(ranges[1]))
				}
				i, previous = i+end+1, -1
				continue
			}
			// Each "[:" up to there has the same end. A search for each of them would take time that
			// grows with the square of the length.
			plain = i + end
		}
		isRange := text[i] == '-' && previous > 0 && i+1 < len(text) && text[i+1] != ']'
		if isRange {
			i++
		}
		if text[i] == '\\' {
			if i++; i >= len(text) {
				return nil, 0, false
			}
		}
		if b := int(text[i]); isRange {
			set.add(previous, b)
			previous = -1
		} else {
			set.add(b, b)
			previous = b
		}
		i++
	}
	if negated {
		for i := range set {
			set[i] = ^set[i]
		}
	}
	set['/'>>6] &^= 1 << ('/' & 63)
	return set, i + 1, true
}

// classes are the names in "[:name:]", each with the first and the last byte of its ranges.
var classes = map[string]string{
	"alnum":  "09AZaz",
	"alpha":  "AZaz",
	"blank":  "\t\t  ",
	"cntrl":  "\x00\x1f\x7f\x7f",
	"digit":  "09",
	"graph":  "!~",
	"lower":  "az",
	"print":  " ~",
	"punct":  "!/:@[`{~",
	"space":  "\t\r  ",
	"upper":  "AZ",
	"xdigit": "09AFaf",
}

// matches reports whether a pattern matches a path, which is relative to the directory of the
// pattern and has slashes. The answer is worthless if stop returned true.
func (p *pattern) matches(path string, isDir bool, stop func() bool) bool {
	if p.dirOnly && !isDir {
		return false
	}
	if p.lastName {
		path = path[strings.LastIndexByte(path, '/')+1:]
	}
	return matchTokens(p.tokens, path, stop)
}

// matchTokens takes as little as it can for each wildcard. If the rest does not match, only the
// last "*" takes more, and if that meets a slash, the last "**". So the time is bounded by the
// product of the lengths. For a long pattern and a long path that is seconds, so that stop is
// asked from time to time whether to give up; nil never does.
func matchTokens(tokens []token, text string, stop func() bool) bool {
	t, n := 0, 0
	starToken, starEnd := -1, 0 // the last "*", and where its text ends
	deepToken, deepEnd := -1, 0 // the last "**"
	for steps := 1; t < len(tokens) || n < len(text); steps++ {
		if steps%(1<<16) == 0 && stop != nil && stop() {
			return false
		}
		if t < len(tokens) {
			switch k := &tokens[t]; k.kind {
			case mismatch:
				return false
			case star:
				starToken, starEnd = t, n
				t++
				continue
			case anyPath, anyDirs:
				deepToken, deepEnd, starToken = t, n, -1
				t++
				continue
			case literal, class:
				if n < len(text) && (k.kind == literal && k.byte == text[n] || k.kind == class && k.set.has(text[n])) {
					t, n = t+1, n+1
					continue
				}
			}
		}
		switch {
		case starToken >= 0 && starEnd < len(text) && text[starEnd] != '/':
			starEnd++
			t, n = starToken+1, starEnd
		case deepToken >= 0 && deepEnd < len(text):
			deepEnd++
			if tokens[deepToken].kind == anyDirs {
				slash := strings.IndexByte(text[deepEnd-1:], '/')
				if slash < 0 {
					return false
				}
				deepEnd += slash
			}
			t, n, starToken = deepToken+1, deepEnd, -1
		default:
			return false
		}
	}
	return true
}

// A Glob selects paths by patterns in the language of .gitignore files, and by "{a,b}" for
// alternatives. A path matches as a whole: a pattern without a slash matches the last name.
type Glob []pattern

const (
	maxGlob         = 1000 // bytes
	maxAlternatives = 100
)

// ParseGlob parses a pattern. Unlike in a .gitignore file, a malformed pattern is an error, and so
// is one that matches no path.
func ParseGlob(text string) (Glob, error) {
	if len(text) > maxGlob {
		return nil, fmt.Errorf("is longer than %d bytes", maxGlob)
	}
	all, err := alternatives(text)
	if err != nil {
		return nil, err
	}
	var g Glob
	for _, one := range all {
		one = strings.TrimPrefix(one, "./")
		if err := checkNames(one); err != nil {
			return nil, err
		}
		p := parsePattern(one)
		for _, t := range p.tokens {
			if t.kind == mismatch {
				return nil, errors.New(`is malformed: it is empty, or a "[" or a backslash is not complete`)
			}
		}
		g = append(g, p)
	}
	return g, nil
}

// checkNames refuses a pattern with a name that no path has. A slash at the beginning or at the
// end is not between names.
func checkNames(text string) error {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "/"), "/")
	for name := range strings.SplitSeq(text, "/") {
		switch {
		case name == "..":
			return errors.New(`contains "..", but it only selects what is below the directory in which the search starts`)
		case name == ".", name == "" && text != "":
			return errors.New(`contains "." or nothing as a name, which no path has`)
		}
	}
	return nil
}

// alternatives expands the braces of a pattern. Braces without a comma are literal.
func alternatives(text string) ([]string, error) {
	done, todo := []string(nil), []string{text}
	for len(todo) > 0 {
		if len(done)+len(todo) > maxAlternatives {
			return nil, fmt.Errorf("has more than %d alternatives", maxAlternatives)
		}
		next := todo[0]
		todo = todo[1:]
		before, choices, after, err := firstBraces(next)
		if err != nil {
			return nil, err
		}
		if choices == nil {
			done = append(done, next)
			continue
		}
		var expanded []string
		for _, choice := range choices {
			expanded = append(expanded, before+choice+after)
		}
		todo = append(expanded, todo...)
	}
	return done, nil
}

// firstBraces finds the first braces with a comma, outside of which no brace is open. Without any,
// there are no choices.
func firstBraces(text string) (before string, choices []string, after string, err error) {
	open, depth, from := 0, 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '{':
			if depth++; depth == 1 {
				open, from, choices = i, i+1, nil
			}
		case c == ',' && depth == 1:
			choices, from = append(choices, text[from:i]), i+1
		case c == '}' && depth > 0:
			if depth--; depth == 0 && choices != nil {
				return text[:open], append(choices, text[from:i]), text[i+1:], nil
			}
		}
	}
	if depth > 0 {
		return "", nil, "", errors.New(`has a "{" without "}"; write "\{" for the character itself`)
	}
	return "", nil, "", nil
}

// Match reports whether the glob selects a path. Only patterns that end in a slash select
// directories, and they select nothing else.
func (g Glob) Match(path string, isDir bool) bool {
	for i := range g {
		if g[i].dirOnly == isDir && g[i].matches(path, isDir, nil) {
			return true
		}
	}
	return false
}
