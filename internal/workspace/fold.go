package workspace

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fold maps the spellings by which some file system finds the same name to one form:
// letter case, Unicode compatibility forms (.ｅｎｖ), characters that HFS+ ignores
// (zero width, direction marks), dots and blanks that Windows cuts off the end.
func fold(name string) string {
	if isASCII(name) {
		return strings.TrimRight(strings.ToLower(name), " .")
	}
	name = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) ||
			unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) {
			return -1
		}
		return r
	}, name)
	name = norm.NFKC.String(cases.Fold().String(norm.NFKC.String(name)))
	return strings.TrimRight(name, " .")
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// isEnvName recognises files that by convention hold secrets: .env and .env.*, but
// not the samples that people commit.
func isEnvName(name string) bool {
	name = fold(name)
	if name == ".env" {
		return true
	}
	if !strings.HasPrefix(name, ".env.") {
		return false
	}
	for _, harmless := range []string{".example", ".sample", ".template"} {
		if strings.HasSuffix(name, harmless) {
			return false
		}
	}
	return true
}
