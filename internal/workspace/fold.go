package workspace

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// fold maps the spellings that some file system treats as the same name to one form:
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
	name = norm.NFKC.String(cases.Fold().String(compose(name)))
	return strings.TrimRight(name, " .")
}

// maxFolded bounds the form that names are compared in. A name of 255 bytes can grow
// elevenfold (U+FDFA); a directory full of such names took seconds to list. Spellings
// of one name are cut at the same place, so they stay equal.
const maxFolded = 256

// compose returns the Unicode form NFKC of the beginning of a name.
func compose(name string) string {
	var out []byte
	var it norm.Iter
	for it.InitString(norm.NFKC, name); !it.Done() && len(out) < maxFolded; {
		out = append(out, it.Next()...)
	}
	return string(out)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func foldAll(names []string) []string {
	folded := make([]string, len(names))
	for i, name := range names {
		folded[i] = fold(name)
	}
	return folded
}

// isEnvName recognises, by their folded names, files that by convention hold secrets:
// .env and .env.*, but not the samples that people commit.
func isEnvName(folded string) bool {
	if folded == ".env" {
		return true
	}
	if !strings.HasPrefix(folded, ".env.") {
		return false
	}
	for _, harmless := range []string{".example", ".sample", ".template"} {
		if strings.HasSuffix(folded, harmless) {
			return false
		}
	}
	return true
}

// IsEnvFile reports whether tools and containers take a file for an env file by its name.
func IsEnvFile(name string) bool { return isEnvName(fold(name)) }

// isGitName recognises, by its folded name, the directory of a git repository, or the file
// that replaces it in a worktree or a submodule. A hook or a line of its config
// (core.fsmonitor, core.sshCommand) runs with the user's next git command.
func isGitName(folded string) bool { return folded == ".git" }
