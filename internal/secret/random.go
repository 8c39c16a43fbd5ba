package secret

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// secretsIn returns the parts of a variable's value that look secret. It errs to the
// side of hiding: a hidden commit hash is a nuisance, a printed key is a leak. But what
// is an ordinary word must stay, or results become unreadable.
func secretsIn(name, value string) []string {
	value = strings.TrimSpace(value)
	if isTelling(name) && isPassword(value) {
		return append([]string{value}, inside(value)...)
	}
	found := inside(value)
	if strings.Contains(value, "://") {
		return found
	}
	if looksRandom(value) {
		return append([]string{value}, found...)
	}
	// Several values in one variable leak one by one.
	for _, item := range strings.FieldsFunc(value, isSeparator) {
		if item != value && looksRandom(item) {
			found = append(found, item)
		}
	}
	return found
}

func isSeparator(r rune) bool {
	return r == ',' || r == ';' || r == ' ' || r == '\t' || r == '\n' || r == '\r' || r == '"'
}

// inside returns secrets that are part of a value: credentials of a URL, and the lines
// of a key that has several, since tools cut text into lines.
func inside(value string) []string {
	var found []string
	for line := range strings.Lines(value) {
		if line = strings.TrimSpace(line); line != value && len(line) >= 16 && looksRandom(line) {
			found = append(found, line)
		}
	}
	u, err := url.Parse(value)
	if err != nil || !strings.Contains(value, "://") {
		return found
	}
	if password, ok := u.User.Password(); ok {
		if isPassword(password) || strings.ContainsAny(password, "-_. ") { // a single word would be missed in text
			found = append(found, password)
		}
	} else if user := u.User.Username(); looksRandom(user) { // a token in its place
		found = append(found, user)
	}
	parts := strings.FieldsFunc(u.Path+"/"+u.Fragment, func(r rune) bool { return r == '/' })
	for key, values := range u.Query() {
		for _, v := range values {
			if isTelling(key) && isPassword(v) {
				found = append(found, v)
			}
		}
		parts = append(parts, values...)
	}
	for _, part := range parts { // the address of a webhook is its key
		if len(part) >= 16 && looksRandom(part) {
			found = append(found, part)
		}
	}
	return found
}

// telling are the last words of names whose values are secrets by intention.
var telling = []string{
	"key", "apikey", "token", "secret", "password", "passwd", "pwd", "pass", "passphrase",
	"credential", "credentials", "auth", "authorization", "pat", "signature", "sig",
}

func isTelling(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	return len(words) > 0 && slices.Contains(telling, words[len(words)-1])
}

// isWord reports whether a value is what a person writes in the place of a key: small
// letters, and few of them.
func isWord(value string) bool {
	c := count(value)
	return len(value) < 16 && c.upper+c.digits+c.signs+strings.Count(value, "/") == 0
}

// isPassword judges a value whose name says that it is secret: everything but what
// would be missed in text. A single word is not taken, since "changeme" or "disabled"
// would be hidden wherever they occur.
func isPassword(value string) bool {
	switch {
	case len(value) < minLength, isNumber(value), isPath(value), strings.Contains(value, "://"):
		return false
	}
	c := count(value)
	if len(value) < 16 && c.digits+c.signs == 0 && c.changes < 3 {
		return false // words, also written like createdAt
	}
	kinds := 0
	for _, n := range []int{c.lower, c.upper, c.digits, c.signs} {
		if n > 0 {
			kinds++
		}
	}
	return kinds > 1 || len(value) >= 16
}

var (
	// prefixes begin the keys of well-known services.
	prefixes = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:sk-|sk_|rk_|pk_|ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|glpat-|xox[a-z]-|xapp-|AIza|ya29\.|npm_|pypi-|hf_|SG\.|dop_v1_|shp[a-z]{2}_|whsec_|tvly-|fc-|r8_|gsk_|lin_api_|secret_|ntn_|key-|Bearer |Basic )`)
	})
	amazon = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:AKIA|ASIA)[A-Z0-9]{16}$`) })
	// Many services hand out UUIDs as keys.
	uuid = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	})
	// A date, a time, a version, an address: digits with signs, and a word or two.
	figures = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[vV]?[0-9]+(?:[-.:+/TZ_ ][0-9]*)*Z?(?:[-.+][a-z]+[.0-9]*)*$`)
	})
	jwt  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*$`) })
	path = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:~|\.{1,2})?/|^[A-Za-z]:\\`) })
)

func isNumber(value string) bool { return figures().MatchString(value) }

// isPath reports whether a value names a file. A key in base64 can begin with a slash
// as well, but then no part of it reads like a name.
func isPath(value string) bool {
	return path().MatchString(value) && !count(value).isMixed()
}

// looksRandom reports whether a value was made by a generator and not by a person.
func looksRandom(value string) bool {
	switch {
	case len(value) < minLength, isNumber(value), isPath(value):
		return false
	case uuid().MatchString(value), amazon().MatchString(value), jwt().MatchString(value):
		return true
	case strings.HasPrefix(value, "-----BEGIN ") && strings.Contains(value, "PRIVATE KEY"):
		return len(value) > 64
	case strings.ContainsFunc(value, isSeparator) && !prefixes().MatchString(value):
		return false // a sentence, or a list
	}
	if prefix := prefixes().FindString(value); prefix != "" {
		c := count(value[len(prefix):])
		return c.total() >= minLength && (c.digits > 0 || c.upper > 0 && c.lower > 0)
	}
	return count(value).isMixed()
}

// Counts say of what kinds of characters a text is made, and how often the kind changes.
type counts struct{ lower, upper, digits, signs, changes int }

func (c counts) total() int { return c.lower + c.upper + c.digits }

// isMixed tells random text by the changes between small letters, capitals and digits:
// a generator changes every second or third character, and people every word.
func (c counts) isMixed() bool {
	n := c.total()
	switch {
	case c.lower+c.upper == 0 || n < minLength || c.changes < 3:
		return false
	case n < 16:
		return c.digits > 0 && c.changes*100 >= n*35
	}
	return c.changes*5 >= n
}

// count looks at a text. A capital that begins a word does not change the kind a second
// time, and characters beside letters and digits separate.
func count(value string) (c counts) {
	const none, lower, upper, digit = 0, 1, 2, 3
	last := none
	capitals := 0 // in a row
	for _, b := range []byte(value) {
		kind := none
		switch {
		case b >= 'a' && b <= 'z':
			c.lower++
			kind = lower
		case b >= 'A' && b <= 'Z':
			c.upper++
			kind = upper
		case b >= '0' && b <= '9':
			c.digits++
			kind = digit
		case b == '-' || b == '_' || b == '.' || b == '/':
		default:
			c.signs++
		}
		word := last == upper && kind == lower && capitals == 1
		if kind != none && last != none && kind != last && !word {
			c.changes++
		}
		if capitals++; kind != upper {
			capitals = 0
		}
		last = kind
	}
	return c
}
