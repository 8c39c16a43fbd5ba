package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A guard knows what is protected, in two ways. By identity: the directory or file
// that a handle is open on is the protected one, whatever name led there (a link, a
// hard link, a bind mount, another letter case, a rename). By place: a name that does
// not exist yet, or that only looks like the protected one, is refused by where it
// would be.
type guard struct {
	entries []*entry
	inside  []*entry // those of entries that have a place in the workspace

	mu     sync.Mutex
	held   []hold // directories that were seen at a protected path, now or earlier
	closed bool
}

type entry struct {
	path  string   // absolute, trusted: the user or the runtime chose it
	place []string // folded names from the root of the workspace; nil when it lies elsewhere
	plain bool     // a link at path is not followed: a repository could have brought it
}

// newGuard makes a guard of paths anywhere on the machine.
func newGuard(root *os.Root, dir string, paths []string) (*guard, error) {
	top, err := root.Stat(".")
	if err != nil {
		return nil, err
	}
	g := &guard{}
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("protected path %q is not absolute", path)
		}
		if info, err := os.Stat(path); err == nil && os.SameFile(info, top) {
			return nil, errors.New("the storage directory is the workspace itself; choose another one")
		}
		g.add(&entry{path: path, place: placeOf(dir, path)})
	}
	return g, nil
}

func (g *guard) add(e *entry) {
	g.entries = append(g.entries, e)
	if e.place != nil {
		g.inside = append(g.inside, e)
	}
}

// placeOf returns where path lies in dir. Links on the way to path are resolved as
// far as it exists, since dir has none.
func placeOf(dir, path string) []string {
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
		return nil
	}
	return foldAll(strings.Split(rel, string(filepath.Separator)))
}

func (e *entry) look() (fs.FileInfo, error) {
	if e.plain {
		return os.Lstat(e.path)
	}
	return os.Stat(e.path)
}

// covers reports whether what is at trail is one of the guard's files. info is nil when
// nothing is there.
func (g *guard) covers(trail []string, info fs.FileInfo) bool {
	folded := foldAll(trail)
	for _, e := range g.entries {
		if e.place != nil && slices.Equal(e.place, folded) {
			return true
		}
		if now, err := e.look(); err == nil && info != nil && os.SameFile(now, info) {
			return true
		}
	}
	return false
}
