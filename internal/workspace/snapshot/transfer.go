package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// An Object is a part of a stored tree, as it goes from one store to another. Its kind and its
// content make its ID, so the other store can check it.
type Object struct {
	ID   ID
	kind kind
}

// Name returns a text that names the object.
func (o Object) Name() string { return string(rune(o.kind)) + "-" + o.ID.String() }

// ParseObject reads what [Object.Name] returns.
func ParseObject(name string) (Object, error) {
	if len(name) > 2 && name[1] == '-' {
		k := kind(name[0])
		id, err := ParseID(name[2:])
		if o := (Object{id, k}); err == nil && (k == blobKind || k == chunksKind || k == treeKind) && o.Name() == name {
			return o, nil
		}
	}
	return Object{}, fmt.Errorf("%q does not name a stored object", name)
}

// The limits of a tree that goes from one store to another. A few objects can describe any number of
// files, because a directory can be in another one many times.
const (
	MaxTreeEntries = 1_000_000 // files and directories
	MaxTreeLevels  = 300       // of directories; more than a [Taker] goes down
)

// Objects returns what trees consist of, by name. Trees that are not stored any more are passed over.
// The contents of env files are left out, unless another file has the same content.
func (s *Store) Objects(trees []ID) ([]Object, error) {
	found := reached{objects: map[Object]bool{}, trees: map[ID]extent{}}
	for _, tree := range trees {
		if has, err := s.Has(tree); err != nil {
			return nil, err
		} else if !has {
			continue
		}
		if _, err := s.reach(tree, found, 1); err != nil {
			return nil, err
		}
	}
	all := make([]Object, 0, len(found.objects))
	for o := range found.objects {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b Object) int { return cmp.Compare(a.Name(), b.Name()) })
	return all, nil
}

// reached is what trees were found to consist of.
type reached struct {
	objects map[Object]bool
	trees   map[ID]extent
}

// An extent is how many entries a tree has, with all below it, and how many levels.
type extent struct{ entries, levels int }

// reach adds a tree and what it consists of. depth is that of the tree, from 1.
func (s *Store) reach(tree ID, found reached, depth int) (size extent, err error) {
	size, known := found.trees[tree]
	if depth+max(size.levels-1, 0) > MaxTreeLevels {
		return size, fmt.Errorf("tree %s: it has more than %d levels", tree, MaxTreeLevels)
	}
	if known {
		return size, nil
	}
	found.objects[Object{tree, treeKind}] = true
	entries, err := s.Tree(tree)
	if err != nil {
		return size, err
	}
	size = extent{len(entries), 1}
	for _, e := range entries {
		private := e.Flags&Private != 0
		switch {
		case !e.Captured():
		case e.Kind == Directory:
			below, err := s.reach(e.ID, found, depth+1)
			if err != nil {
				return size, err
			}
			size = extent{size.entries + below.entries, max(size.levels, below.levels+1)}
		case e.Flags&Chunked == 0:
			if !private {
				found.objects[Object{e.ID, blobKind}] = true
			}
		case !found.objects[Object{e.ID, chunksKind}] || !private:
			found.objects[Object{e.ID, chunksKind}] = true
			list, err := s.object(chunksKind, e.ID)
			if err != nil {
				return size, err
			}
			ids, err := decodeChunks(list)
			if err != nil {
				return size, err
			}
			for _, id := range ids {
				if id != (ID{}) && !private { // the zero ID is a chunk that is not stored
					found.objects[Object{id, blobKind}] = true
				}
			}
		}
		if size.entries > MaxTreeEntries {
			return size, fmt.Errorf("tree %s: it has more than %d files and directories", tree, MaxTreeEntries)
		}
	}
	found.trees[tree] = size
	return size, nil
}

// Read returns the content of an object.
func (s *Store) Read(o Object) ([]byte, error) { return s.object(o.kind, o.ID) }

// A Receiver adds objects to a store.
type Receiver struct {
	store *Store
	pack  *packWriter // nil while there is none
	all   map[Object]bool
}

// Receive begins to add objects to the store. Nothing can be read before [Receiver.Commit].
func (s *Store) Receive() *Receiver { return &Receiver{store: s, all: map[Object]bool{}} }

// MaxObject is the largest content of an object.
const MaxObject = maxObject

// Add adds an object, whose content must be that which its name says.
func (r *Receiver) Add(o Object, content []byte) (err error) {
	if len(content) > maxObject || identify(o.kind, content) != o.ID {
		return fmt.Errorf("object %s: its content has another digest", o.Name())
	}
	if r.all[o] {
		return nil
	}
	r.all[o] = true
	if r.pack == nil {
		if r.pack, err = newPack(r.store.packDir); err != nil {
			return err
		}
	}
	return r.pack.add(o.kind, o.ID, content)
}

// Discard drops what was not committed.
func (r *Receiver) Discard() {
	if r.pack != nil {
		r.pack.discard()
		r.pack = nil
	}
}

// Commit makes the objects durable, and checks that they are whole: each is a part of one of the
// trees, and of those that are here nothing is missing. The store must have been empty.
func (r *Receiver) Commit(trees []ID) error {
	if r.pack == nil {
		return nil
	}
	pack := r.pack
	r.pack = nil
	if _, err := pack.commit(); err != nil {
		return err
	}
	r.store.mu.Lock()
	err := r.store.openPacks()
	r.store.mu.Unlock()
	if err != nil {
		return err
	}
	needed, err := r.store.Objects(trees)
	if err != nil {
		return err
	}
	for _, o := range needed {
		if !r.all[o] {
			return fmt.Errorf("object %s is missing", o.Name())
		}
		delete(r.all, o)
	}
	if len(r.all) > 0 {
		return errors.New("there are objects that no state of the job needs")
	}
	return nil
}
