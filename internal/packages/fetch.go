package packages

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/perstack-go/perstack/internal/lockfile"
)

// An Installed is a package with all that it needs, on this machine.
type Installed struct {
	Dir      string // where it lies
	Packages int    // how many there are
}

// A Pin says where a pinned package is in a store.
type Pin struct {
	Kind   string // name of the directory for packages of its manager
	Digest string // name of its own directory there
}

// PinOf reads a pinned package, which may come from an untrusted file. It fetches nothing.
func PinOf(p *lockfile.Package) (pin Pin, err error) {
	defer wrap(&err, nameOf(p))
	if p.Manager == uvManager {
		return Pin{Kind: uvKind, Digest: uvDigest(p)}, checkUV(p)
	}
	t, err := lockedTree(p)
	if err != nil {
		return Pin{}, err
	}
	return Pin{Kind: npmKind, Digest: t.digest()}, nil
}

// Fetch makes sure that a pinned package is installed for a platform, which need not be
// this machine. It runs nothing of the package. note is called with progress messages.
func (s *Store) Fetch(ctx context.Context, p *lockfile.Package, on Platform, note func(string)) (found Installed, err error) {
	defer wrap(&err, nameOf(p))
	if p.Manager == uvManager {
		return s.fetchUV(ctx, p, on, note)
	}
	t, err := lockedTree(p)
	if err == nil {
		err = on.check()
	}
	if err != nil {
		return found, err
	}
	home, flags := s.homeOf(t), []string(nil)
	if !on.isHere() {
		home, flags = home+"-"+on.String(), on.flags()
	}
	if err := s.install(ctx, home, t, p, on, note, flags...); err != nil {
		return found, err
	}
	// Also for this machine: the configuration of npm may name another platform.
	if err := t.isFor(home, on); err != nil {
		return found, err
	}
	return Installed{Dir: home, Packages: len(t.present(home))}, nil
}

// present are the paths of the tree that exist in a directory: not all packages are for
// every platform.
func (t *tree) present(home string) (places []string) {
	for _, place := range slices.Sorted(maps.Keys(t.Packages)) {
		if _, err := os.Lstat(filepath.Join(home, filepath.FromSlash(place))); place != "" && !errors.Is(err, os.ErrNotExist) {
			places = append(places, place)
		}
	}
	return places
}

// isFor says which of the installed packages is for another platform. An npm that does not
// know the flags installs what this machine needs, and says nothing.
func (t *tree) isFor(home string, on Platform) error {
	for _, place := range t.present(home) {
		if e := t.Packages[place]; !e.InBundle && !e.admits(on) {
			return fmt.Errorf("npm installed %s, which is not for %s; update npm to version 11", place, on)
		}
	}
	return nil
}
