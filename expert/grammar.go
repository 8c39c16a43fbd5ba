package expert

import "strings"

// The patterns of [KeyPattern] and the others, without regular expressions: compiling one takes
// longer than reading all keys of a file. A test compares the two.

const (
	lower = "abcdefghijklmnopqrstuvwxyz"
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digit = "0123456789"
)

// only reports whether s has a character, and no other than these.
func only(s, these string) bool {
	return s != "" && strings.TrimLeft(s, these) == ""
}

// isWord reports whether s consists of letters, digits and signs, and does not begin with a sign.
func isWord(s, letters, signs string) bool {
	return only(s, letters+digit+signs) && !strings.Contains(signs, s[:1])
}

// isScoped reports whether s is a word, or two as in @scope/name.
func isScoped(s, signs string) bool {
	if scoped, ok := strings.CutPrefix(s, "@"); ok {
		scope, name, _ := strings.Cut(scoped, "/")
		return isWord(scope, lower, signs) && isWord(name, lower, signs)
	}
	return isWord(s, lower, signs)
}

// cutKey splits what [KeyPattern] describes.
func cutKey(s string) (k Key, ok bool) {
	k.Name = s
	if at := strings.LastIndexByte(s, '@'); at > 0 {
		k.Name = s[:at]
		if suffix := s[at+1:]; isVersion(suffix) {
			k.Version = suffix
		} else if k.Tag = suffix; !isWord(suffix, lower, "_.-") {
			return Key{}, false
		}
	}
	if !isScoped(k.Name, "_.-") {
		return Key{}, false
	}
	return k, true
}

// isVersion reports whether s matches [VersionPattern].
func isVersion(s string) bool {
	end := strings.IndexAny(s, "-+")
	if end < 0 {
		end = len(s)
	}
	numbers := strings.Split(s[:end], ".")
	if len(numbers) != 3 {
		return false
	}
	for _, n := range numbers {
		if !only(n, digit) || len(n) > 1 && n[0] == '0' {
			return false
		}
	}
	const signs = upper + lower + digit + "_.-"
	before, build, hasBuild := strings.Cut(s[end:], "+")
	release, hasRelease := strings.CutPrefix(before, "-")
	return (!hasRelease || only(release, signs)) && (!hasBuild || only(build, signs))
}
