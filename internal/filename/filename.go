// Package filename recognises files by their names, in any spelling that some file system takes
// for the same name: env files, the files of perstack, and what belongs to git.
//
// It reads nothing and compares no paths. Start reading at [Fold].
package filename

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Fold maps the spellings that some file system treats as the same name to one form:
// letter case, Unicode compatibility forms (.ｅｎｖ), characters that HFS+ ignores
// (zero width, direction marks), dots and blanks that Windows cuts off the end.
func Fold(name string) string {
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

// IsEnv recognises, by their folded names, files that by convention hold secrets: .env and
// .env.*, but not the samples that people commit.
func IsEnv(folded string) bool {
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

// IsRules recognises, by their folded names, the files that decide what perstack runs.
func IsRules(folded string) bool { return folded == "perstack.toml" || folded == "perstack.lock" }

// IsGit recognises, by its folded name, the directory of a git repository, or the file that
// replaces it in a worktree or a submodule. A hook or a line of its config (core.fsmonitor,
// core.sshCommand) runs with the user's next git command.
func IsGit(folded string) bool { return folded == ".git" }
