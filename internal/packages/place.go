package packages

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/lockfile"
)

// scratchPrefix begins the name of a directory that is being filled. A digest never does.
const scratchPrefix = "tmp-"

// leftover is the age from which such a directory belongs to nobody: npm never takes so
// long.
const leftover = 24 * time.Hour

// root is where everything is. Below it: a directory for each tree, named by its
// digest; the index; and what is not ready yet.
func (s *Store) root() string { return filepath.Join(s.Dir, npmKind) }

// npmKind is the directory for packages of npm.
const npmKind = "npm"

// scratch makes a directory for work, on the same disk as the results. It also clears
// away what crashed runs left behind.
func (s *Store) scratch() (string, error) { return s.scratchIn(s.root()) }

func (s *Store) scratchIn(root string) (string, error) {
	if !filepath.IsAbs(s.Dir) {
		return "", fmt.Errorf("the directory for packages is not absolute: %q", s.Dir)
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return "", err
	}
	// It may be older than we are. What others could write to, we could not start.
	if err := os.Chmod(root, 0o700); err != nil {
		return "", err
	}
	clearOut(root)
	return os.MkdirTemp(root, scratchPrefix)
}

// clearOut fails silently: what stays is in nobody's way.
func clearOut(root string) {
	entries, _ := os.ReadDir(root)
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), scratchPrefix) && time.Since(info.ModTime()) > leftover {
			_ = os.RemoveAll(filepath.Join(root, e.Name()))
		}
	}
}

// settle moves a finished directory to where it belongs. Another process may have been
// faster, and then its copy is as good. What is in the way and is not whole is replaced.
func settle(dir, home string, whole func() error) error {
	err := os.Rename(dir, home)
	if err == nil || whole() == nil {
		return nil
	}
	if _, missing := os.Lstat(home); missing != nil {
		return err
	}
	// Moved away first: so it is never there in part.
	if err := os.Rename(home, dir+"-broken"); err == nil {
		defer os.RemoveAll(dir + "-broken")
	}
	if err := os.Rename(dir, home); err != nil && whole() != nil {
		return err
	}
	return nil
}

// isInstalled says why a directory does not hold the package.
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

// isNamed says which of the installed packages is another one than the tree says. npm
// takes from its cache whatever has the integrity, and does not look at the name.
func (t *tree) isNamed(home string) error {
	for _, place := range slices.Sorted(maps.Keys(t.Packages)) {
		dir := filepath.Join(home, filepath.FromSlash(place))
		if _, err := os.Lstat(dir); place == "" || errors.Is(err, os.ErrNotExist) {
			continue // it is not for this machine
		}
		m, err := readPackage(dir)
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

// readFile reads a file of at most so many bytes.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", filepath.Base(path), limit)
	}
	return text, err
}
