package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/userfile"
)

// toolchainDirs are where version managers keep programs in a home directory. The directories
// around them are not listed: .cargo has the password for the registry, .local has keyrings.
func toolchainDirs() []string {
	return []string{
		".nvm/versions", ".pyenv/bin", ".pyenv/libexec", ".pyenv/shims", ".pyenv/versions", ".rustup/toolchains", ".cargo/bin",
		"go/bin", "go/pkg/mod", "sdk", ".asdf/installs", ".asdf/shims", ".local/bin", ".local/lib", ".local/share/mise/installs",
		".local/share/mise/shims", ".volta/bin", ".volta/tools", ".sdkman/candidates",
	}
}

// secretDirs are directories of a home directory that hold passwords, keys and sessions. Nothing
// in them is a toolchain, whatever PATH says.
func secretDirs() []string {
	return []string{
		".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".mozilla", ".thunderbird", ".npmrc", ".netrc", ".pki",
		".local/share/keyrings", ".local/state", ".config/gcloud", ".config/gh", ".config/perstack", ".git-credentials", ".terraform.d", "Library",
	}
}

// Toolchains returns the directories of the home directory that hold programs and their libraries:
// the usual ones that exist, and the entries of PATH. The paths are absolute, sorted and without
// links, and none lies in another or in the workspace.
func Toolchains(p Places, workspace, path string) []string {
	home := p.Home
	if !filepath.IsAbs(home) {
		return nil
	}
	t := toolchains{places: p.follow(), workspace: follow(workspace)}
	t.home = t.places.home
	for _, name := range toolchainDirs() {
		t.usual = append(t.usual, filepath.Join(t.home, filepath.FromSlash(name)))
	}
	dirs := slices.Clone(t.usual)
	for _, dir := range filepath.SplitList(path) {
		for _, start := range []string{home, t.home} { // the home directory can have two names
			if rest, ok := userfile.Below(start, dir); ok && filepath.IsAbs(dir) {
				dirs = append(dirs, filepath.Join(t.home, rest))
				break
			}
		}
	}
	var found []string
	for _, dir := range dirs {
		if real := t.allowed(dir); real != "" {
			found = append(found, real)
		}
	}
	return outermost(found)
}

type toolchains struct {
	places          followed
	home, workspace string // without links
	usual           []string
}

// allowed returns where a directory is, or "" if programs must not see it. A link cannot lead to
// another part of the home directory than the usual ones.
func (t toolchains) allowed(dir string) string {
	if _, err := os.Lstat(dir); err != nil {
		return "" // most do not exist, and this takes one call
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return ""
	}
	if t.places.refuse(real) != nil || in(t.workspace, real) {
		return ""
	}
	if !in(t.home, real) {
		return real
	}
	isUsual := slices.ContainsFunc(t.usual, func(usual string) bool { return in(usual, real) })
	if isUsual || real == dir && !t.isSecret(real) {
		return real
	}
	return ""
}

// isSecret reports whether a directory holds more than programs.
func (t toolchains) isSecret(real string) bool {
	if slices.ContainsFunc(t.usual, func(usual string) bool { return in(real, usual) }) {
		return true // home itself, or a whole tool directory
	}
	for _, name := range secretDirs() {
		if touches(real, filepath.Join(t.home, filepath.FromSlash(name))) {
			return true
		}
	}
	rest := strings.TrimPrefix(real, t.home+string(filepath.Separator))
	names := strings.Split(rest, string(filepath.Separator))
	// Of settings, and of a hidden directory of a tool, only directories of programs are taken.
	switch {
	case names[0] == ".config" || names[0] == ".cache":
		return len(names) < 3 || !isProgramDir(names[len(names)-1])
	case strings.HasPrefix(names[0], "."):
		return len(names) < 2
	}
	return false
}

func isProgramDir(name string) bool { return name == "bin" || name == "shims" || name == ".bin" }
