package snapshot

import (
	"maps"
	"slices"
	"strings"
)

// A Tree is a snapshot as a list of its paths. Paths have slashes; the root itself is not among them.
type Tree map[string]Entry

// LeftOut reports whether a path lies in a directory that is there and not captured: then the tree
// does not say whether the path is there.
func (t Tree) LeftOut(path string) bool {
	for dir := Parent(path); dir != ""; dir = Parent(dir) {
		if e, ok := t[dir]; ok {
			return !e.Captured()
		}
	}
	return false
}

// Load returns all paths of a tree.
func (s *Store) Load(id ID) (Tree, error) {
	t := Tree{}
	return t, s.load(t, id, "")
}

func (s *Store) load(t Tree, id ID, dir string) error {
	entries, err := s.Tree(id)
	for i := 0; err == nil && i < len(entries); i++ {
		e := entries[i]
		path := join(dir, e.Name)
		t[path] = e
		if e.Kind == Directory && e.Captured() {
			err = s.load(t, e.ID, path)
		}
	}
	return err
}

// Save stores a tree whose contents are stored. Directories need no IDs: they follow from what is
// in them.
func (s *Store) Save(t Tree) (ID, error) {
	w := &writing{store: s}
	defer w.end()
	content := map[string][]Entry{} // of each directory
	add := func(dir string) (ID, error) {
		entries := content[dir]
		slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
		data := encodeTree(entries)
		id := identify(treeKind, data)
		return id, w.add(treeKind, id, data)
	}
	// Backwards, what is in a directory comes before the directory.
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(t))) {
		e := t[path]
		if e.Kind == Directory && e.Captured() {
			var err error
			if e.ID, err = add(path); err != nil {
				return ID{}, err
			}
		}
		dir := Parent(path)
		content[dir] = append(content[dir], e)
	}
	root, err := add("")
	if err == nil {
		_, err = w.commit()
	}
	return root, err
}

// SaveFile stores the content of a file that is not read from a workspace, and returns its entry
// without a name and a mode.
func (s *Store) SaveFile(content []byte) (Entry, error) {
	w := &writing{store: s}
	defer w.end()
	e := Entry{Kind: File, Size: int64(len(content)), ID: identify(blobKind, content)}
	err := w.add(blobKind, e.ID, content)
	if err == nil {
		_, err = w.commit()
	}
	return e, err
}

// Parent returns the directory of a path, "" for the root.
func Parent(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }
