package snapshot

import (
	"strings"
)

// A Change is a path that differs between two trees. Before is nil for what was added, After for
// what was removed. A directory differs by its mode; what differs in it is reported by itself.
type Change struct {
	Path          string // with slashes
	Before, After *Entry
}

// Diff returns what differs between two trees, each directory before its content, in the order of
// names. The zero ID is a tree without entries.
func (s *Store) Diff(before, after ID) ([]Change, error) {
	var d differ
	err := d.trees(s, before, after, "")
	return d.changes, err
}

type differ struct{ changes []Change }

func (d *differ) trees(s *Store, before, after ID, dir string) error {
	if before == after {
		return nil
	}
	a, err := s.treeOrNone(before)
	if err != nil {
		return err
	}
	b, err := s.treeOrNone(after)
	if err != nil {
		return err
	}
	for len(a) > 0 || len(b) > 0 {
		var old, now *Entry
		var order int
		switch {
		case len(a) == 0:
			order = 1
		case len(b) == 0:
			order = -1
		default:
			order = strings.Compare(a[0].Name, b[0].Name)
		}
		if order <= 0 {
			old, a = &a[0], a[1:]
		}
		if order >= 0 {
			now, b = &b[0], b[1:]
		}
		if err := d.entries(s, old, now, dir); err != nil {
			return err
		}
	}
	return nil
}

func (d *differ) entries(s *Store, old, now *Entry, dir string) error {
	name := ""
	var below [2]ID
	for i, e := range []*Entry{old, now} {
		if e == nil {
			continue
		}
		name = e.Name
		if e.Kind == Directory && e.Captured() {
			below[i] = e.ID
		}
	}
	path := join(dir, name)
	if !Same(old, now) {
		d.changes = append(d.changes, Change{path, old, now})
	}
	return d.trees(s, below[0], below[1], path)
}

// Same reports whether two entries are equal, apart from what lies in directories. What is not
// captured counts as equal: its content is not known.
func Same(a, b *Entry) bool {
	switch {
	case a == nil || b == nil:
		return a == b
	case a.Kind != b.Kind || a.Captured() != b.Captured():
		return false
	case !a.Captured(): // both are left alone, whatever is in them
		return true
	case a.Kind == Directory:
		return a.Mode == b.Mode
	case a.Kind == Link:
		return a.ID == b.ID
	}
	return a.Mode == b.Mode && a.Size == b.Size && a.ID == b.ID
}

func (s *Store) treeOrNone(id ID) ([]Entry, error) {
	if id == (ID{}) {
		return nil, nil
	}
	return s.Tree(id)
}
