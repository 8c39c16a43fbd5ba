package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A guard knows what is protected, in two ways. By identity: the directory or file that a
// handle is open on is the protected one, whatever name led there (a link, a hard link, a
// bind mount, another letter case, a rename). By location: a name that does not exist yet,
// or another spelling of the protected name, is refused by where it would be.
//
// Changes are refused in a third way, by the route of a path: see stop.
type guard struct {
	root    folder
	dir     string // the path of root
	entries []*entry
	inside  []*entry // those of entries that lie in the workspace

	mu     sync.Mutex
	held   []hold // directories that were seen at a protected path; the slice is replaced, never changed
	closed bool
}

type entry struct {
	path     string   // absolute, trusted: the user or the runtime chose it
	from     folder   // the directory from which it is looked at,
	name     string   // and its path from there
	jobs     string   // and that of the jobs in it
	location []string // folded names from the root of the workspace; nil when it lies elsewhere

	origin string   // where the route to it begins,
	names  []string // and the names from there
	stops  []stop   // of that route, when the workspace was opened
}

// newGuard makes a guard of paths anywhere on the machine.
func newGuard(root folder, dir string, paths []string) (*guard, error) {
	top, err := root.Stat(".")
	if err != nil {
		return nil, err
	}
	g := &guard{root: root, dir: dir}
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("protected path %q is not absolute", path)
		}
		if slices.Contains(components(path), "..") {
			// After a link, ".." leads elsewhere than the text says.
			return nil, fmt.Errorf("protected path %q has .. in it; clean it before it is used", path)
		}
		e := &entry{path: filepath.Clean(path), location: locationOf(dir, path)}
		g.add(e)
		if id, _, err := e.look(); err == nil && id.is(identify(top)) {
			return nil, errors.New("the storage directory is the workspace itself; choose another one")
		}
	}
	return g, nil
}

// add adds an entry, unless its path has one already: each entry costs a system call in
// every operation.
func (g *guard) add(e *entry) {
	if slices.ContainsFunc(g.entries, func(o *entry) bool { return o.path == e.path }) {
		return
	}
	e.from, e.name = lookFrom(g.root, g.dir, e.path)
	e.jobs = e.name + "/" + jobsName
	e.origin, e.names = origin(g.dir, e.path)
	e.stops = e.route(g.dir)
	g.entries = append(g.entries, e)
	if e.location != nil {
		g.inside = append(g.inside, e)
	}
}

// locationOf returns where path lies in dir. Links in path are resolved as far as it
// exists, since dir has none.
func locationOf(dir, path string) []string {
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

func (e *entry) look() (id fileID, isDir bool, err error) {
	return peek(e.from, e.name, true)
}

// covers reports whether the file at trail is one of the guard's files. info is nil if
// there is no file.
func (g *guard) covers(trail []string, info fs.FileInfo) bool {
	folded := foldAll(trail)
	for _, e := range g.entries {
		if e.location != nil && slices.Equal(e.location, folded) {
			return true
		}
		if now, _, err := e.look(); err == nil && now.is(identify(info)) {
			return true
		}
	}
	return false
}
