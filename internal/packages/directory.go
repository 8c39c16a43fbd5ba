package packages

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/lockfile"
)

// scratchPrefix begins the name of a directory that is being filled. A digest never does.
const scratchPrefix = "tmp-"

// leftover is the age at which such a directory is removed: npm never takes so long.
const leftover = 24 * time.Hour

// root is the directory for npm. It contains a directory for each tree, named by its
// digest, the index, and directories that are being filled.
func (s *Store) root() string { return filepath.Join(s.Dir, npmKind) }

// npmKind is the directory for packages of npm.
const npmKind = "npm"

// scratch makes a working directory on the same disk as the results. It also removes what
// crashed runs left behind.
func (s *Store) scratch(root string) (string, error) {
	if !filepath.IsAbs(s.Dir) {
		return "", fmt.Errorf("the directory for packages is not absolute: %q", s.Dir)
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", err
	}
	// It may exist already. Programs must not be started from a directory that other users
	// can write to.
	if err := os.Chmod(root, 0o700); err != nil {
		return "", err
	}
	clearOut(root)
	return os.MkdirTemp(root, scratchPrefix)
}

// clearOut ignores errors: what stays does no harm.
func clearOut(root string) {
	entries, _ := os.ReadDir(root)
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), scratchPrefix) && time.Since(info.ModTime()) > leftover {
			_ = os.RemoveAll(filepath.Join(root, e.Name()))
		}
	}
}

// settle moves a finished directory to its final name. If another process was faster, its
// directory is used. An incomplete directory of that name is replaced.
func settle(dir, home string, installed func(dir string) error) error {
	err := os.Rename(dir, home)
	if err == nil || installed(home) == nil {
		return nil
	}
	if _, missing := os.Lstat(home); missing != nil {
		return err
	}
	// Moved away first, so that it is never there in part.
	if err := os.Rename(home, dir+"-broken"); err == nil {
		defer os.RemoveAll(dir + "-broken")
	}
	if err := os.Rename(dir, home); err != nil && installed(home) != nil {
		return err
	}
	return nil
}

// isInstalled returns why a directory does not contain the package, or nil.
func isInstalled(home string, p *lockfile.Package) error {
	m, err := readPackage(filepath.Join(home, modules, filepath.FromSlash(p.Name)))
	if err != nil {
		return err
	}
	if m.Name != p.Name || m.Version != p.Version {
		return fmt.Errorf("npm installed %s@%s instead", safeText(m.Name), safeText(m.Version))
	}
	return nil
}

// isNamed returns an error if an installed package is not the one in the tree. npm takes
// from its cache whatever has the integrity, and does not check the name.
func (t *tree) isNamed(home string) error {
	for _, place := range t.present(home) {
		m, err := readPackage(filepath.Join(home, filepath.FromSlash(place)))
		if err != nil {
			return fmt.Errorf("it needs %s: %w", place, err)
		}
		want := t.Packages[place].Name
		if want == "" {
			want = place[strings.LastIndex(place, modules+"/")+len(modules)+1:]
		}
		if m.Name != want {
			return fmt.Errorf("it needs %s: npm installed %s instead of %s", place, safeText(m.Name), want)
		}
	}
	return nil
}

// writeManifest asks npm for one package.
func writeManifest(dir, name, version string) error {
	text, err := json.Marshal(map[string]any{
		"private": true, "dependencies": map[string]string{name: version},
	}, json.Deterministic(true))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, manifestName), text, 0o600)
}
