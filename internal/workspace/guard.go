package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A guard knows what is protected, in two ways. By identity: the directory or file
// that a handle is open on is the protected one, whatever name led there (a link, a
// hard link, a bind mount, another letter case). By place: a name that does not exist
// yet, or that only looks like the protected one, is refused by where it would be.
type guard struct {
	entries []entry
}

type entry struct {
	path  string      // absolute, trusted: the user or the runtime chose it
	place string      // folded, relative to the root; "" when it lies elsewhere
	first fs.FileInfo // the directory as it was at the start; nil if it did not exist
}

func newGuard(root *os.Root, dir string, protected []string) (guard, error) {
	top, err := root.Stat(".")
	if err != nil {
		return guard{}, err
	}
	var g guard
	for _, path := range protected {
		if !filepath.IsAbs(path) {
			return guard{}, fmt.Errorf("protected path %q is not absolute", path)
		}
		e := entry{path: path, place: placeOf(dir, path)}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			if os.SameFile(info, top) {
				return guard{}, errors.New("the storage directory is the workspace itself; choose another one")
			}
			e.first = info
		}
		g.entries = append(g.entries, e)
	}
	return g, nil
}

// placeOf returns where path lies in dir. Links on the way to path are resolved as
// far as it exists, since dir has none.
func placeOf(dir, path string) string {
	head, tail := filepath.Clean(path), ""
	for {
		if resolved, err := filepath.EvalSymlinks(head); err == nil {
			head = resolved
			break
		}
		parent := filepath.Dir(head)
		if parent == head {
			break
		}
		head, tail = parent, filepath.Join(filepath.Base(head), tail)
	}
	rel, err := filepath.Rel(dir, filepath.Join(head, tail))
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return ""
	}
	return foldPlace(strings.Split(rel, string(filepath.Separator)))
}

func foldPlace(trail []string) string {
	folded := make([]string, len(trail))
	for i, name := range trail {
		folded[i] = fold(name)
	}
	return strings.Join(folded, "/")
}

// watch takes a look at the protected paths as they are now. Files come and go (an
// editor replaces an env file by a new one), so identities are not kept longer than
// one operation; only the directory of the start is kept too, in case it was renamed.
func (g *guard) watch() *watch {
	now := &watch{guard: g}
	for _, e := range g.entries {
		if info, err := os.Stat(e.path); err == nil {
			now.infos = append(now.infos, info)
		}
		if e.first != nil {
			now.infos = append(now.infos, e.first)
		}
	}
	return now
}

// A watch guards one operation.
type watch struct {
	guard *guard
	infos []fs.FileInfo
}

// refuse returns the refusal for what is at trail, or nil. info is nil when nothing
// is there, or when it is not known yet.
func (w *watch) refuse(given string, trail []string, info fs.FileInfo) error {
	if isEnvName(trail[len(trail)-1]) {
		return secret(given)
	}
	place := foldPlace(trail)
	for _, e := range w.guard.entries {
		if e.place != "" && e.place == place {
			return protectedBy(given, e.path)
		}
	}
	if info == nil {
		return nil
	}
	for _, known := range w.infos {
		if os.SameFile(known, info) {
			if info.IsDir() {
				return storage(given)
			}
			return secret(given)
		}
	}
	return nil
}

// covers reports whether what is at trail is one of the guard's files. info is nil when
// nothing is there.
func (g *guard) covers(trail []string, info fs.FileInfo) bool {
	place := foldPlace(trail)
	for _, e := range g.entries {
		if e.place != "" && e.place == place {
			return true
		}
		if now, err := os.Stat(e.path); err == nil && info != nil && os.SameFile(now, info) {
			return true
		}
	}
	return false
}

func protectedBy(given, path string) error {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return secret(given)
	}
	return storage(given)
}

func storage(given string) error {
	return fail(Protected, given, "is protected: access to the perstack directory is not allowed")
}

func secret(given string) error {
	return fail(Protected, given, "is protected: env files may hold secrets and are out of reach of tools")
}
