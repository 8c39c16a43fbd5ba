package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/opendir"
)

const (
	// maxPacks is how many packs there can be before small ones are merged.
	maxPacks = 64
	// fewPacks is how many there are then.
	fewPacks = 16
)

// Collect removes the objects that no tree in roots needs from the store in a directory. It returns
// how many bytes became free. [ErrInUse] says that the store is open elsewhere. A root that was
// removed before is passed over.
//
// roots is called when no other process can use the store: a tree that was stored after the roots
// were known would be lost.
//
// A pack is written again if more than a sixth of it is not needed. The new pack is durable before
// the old ones are removed, so that a crash loses nothing.
func Collect(dir string, roots func() ([]ID, error)) (free int64, err error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	s, err := open(dir, true)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	needed, err := roots()
	if err != nil {
		return 0, err
	}
	if free, err = s.collect(needed); err != nil {
		return free, fmt.Errorf("remove stored files that are not needed: %w", err)
	}
	return free, nil
}

// Size returns how many bytes the packs of the store in a directory take.
func Size(dir string) (sum int64, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, "packs"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // else it was removed meanwhile
			sum += info.Size()
		}
	}
	return sum, err
}

func (s *Store) collect(roots []ID) (free int64, err error) {
	needed := map[ID]bool{}
	for _, root := range roots {
		has, err := s.Has(root)
		if has {
			err = s.mark(root, needed)
		}
		if err != nil {
			return 0, err
		}
	}
	if err := errors.Join(s.removeUnfinished(), s.openPacks()); err != nil {
		return 0, err
	}
	var old []*pack
	for _, p := range s.packs {
		alive, err := p.bytesOf(needed)
		if err != nil {
			return 0, err
		}
		if 6*alive < 5*(p.end-int64(len(packMagic))) {
			old = append(old, p)
		}
	}
	if len(old) == 0 {
		return 0, nil
	}
	// An index can name objects that are about to be removed.
	if err := s.removeIndexes(); err != nil {
		return 0, err
	}
	return s.replace(old, func(id ID) bool { return needed[id] })
}

// mark adds a tree, and everything that it consists of, to what is needed.
func (s *Store) mark(tree ID, needed map[ID]bool) error {
	if needed[tree] {
		return nil
	}
	entries, err := s.Tree(tree)
	if err != nil {
		return err
	}
	needed[tree] = true
	for _, e := range entries {
		switch {
		case !e.Captured() || needed[e.ID]:
		case e.Kind == Directory:
			if err := s.mark(e.ID, needed); err != nil {
				return err
			}
		case e.Flags&Chunked != 0:
			list, err := s.object(chunksKind, e.ID)
			if err != nil {
				return err
			}
			ids, err := decodeChunks(list)
			if err != nil {
				return err
			}
			for _, id := range ids {
				needed[id] = true
			}
			needed[e.ID] = true
		default:
			needed[e.ID] = true
		}
	}
	return nil
}

// bytesOf returns how much of a pack is needed.
func (p *pack) bytesOf(needed map[ID]bool) (sum int64, err error) {
	offsets := make([]int64, p.count())
	for i := range offsets {
		_, offsets[i] = p.row(i)
	}
	slices.Sort(offsets)
	for i := range p.count() {
		id, at := p.row(i)
		if !needed[id] {
			continue
		}
		end := p.end
		if next, _ := slices.BinarySearch(offsets, at+1); next < len(offsets) {
			end = offsets[next]
		}
		if at >= end {
			return 0, errDamaged
		}
		sum += end - at
	}
	return sum, nil
}

// replace writes the needed objects of old packs to a new one, and removes the old ones. It returns
// how many bytes became free.
func (s *Store) replace(old []*pack, needed func(ID) bool) (free int64, err error) {
	w, err := newPack(s.packDir)
	if err != nil {
		return 0, err
	}
	for _, p := range old {
		free += p.size
		if err = w.copyFrom(p, needed); err != nil {
			w.discard()
			return 0, err
		}
	}
	name := ""
	if len(w.rows) == 0 {
		w.discard()
	} else if name, err = w.commit(); err != nil {
		return 0, err
	} else {
		free -= w.offset
	}
	for _, p := range old {
		if p.name != name {
			err = errors.Join(err, s.packDir.Remove(p.name))
		}
	}
	return free, errors.Join(err, s.packDir.Sync())
}

// copyFrom copies records as they are stored.
func (w *packWriter) copyFrom(p *pack, needed func(ID) bool) error {
	for i := range p.count() {
		id, at := p.row(i)
		if !needed(id) || w.has(id) {
			continue
		}
		r, err := p.recordAt(at)
		if err == nil {
			err = w.record(r.kind, r.codec, id, r.size, r.stored)
		}
		if err != nil {
			return fmt.Errorf("pack %s: %w", p.name, err)
		}
	}
	return nil
}

// mergePacks writes small packs to one if there are many. Large ones stay as they are. While
// another process has the store open, nothing is done.
func mergePacks(dir string) error {
	s, err := open(dir, true)
	if errors.Is(err, ErrInUse) {
		return nil
	}
	if err != nil {
		return err
	}
	defer s.Close()
	if err := errors.Join(s.removeUnfinished(), s.openPacks()); err != nil {
		return err
	}
	if len(s.packs) <= maxPacks {
		return nil // another process has merged them
	}
	small := slices.SortedFunc(slices.Values(s.packs), func(a, b *pack) int { return cmp.Compare(a.size, b.size) })
	_, err = s.replace(small[:len(small)-fewPacks+1], func(ID) bool { return true })
	return err
}

// removeUnfinished removes what killed processes left.
func (s *Store) removeUnfinished() error {
	return removeFiles(s.packDir, func(name string) bool { return strings.HasSuffix(name, unfinishedSuffix) })
}

func (s *Store) removeIndexes() error {
	return removeFiles(s.indexDir, func(string) bool { return true })
}

func removeFiles(dir opendir.Dir, which func(name string) bool) error {
	names, err := dir.Names()
	for _, name := range names {
		if which(name) {
			err = errors.Join(err, dir.Remove(name))
		}
	}
	return err
}

// Verify reads everything that a tree consists of, and checks it.
func (s *Store) Verify(tree ID) error {
	entries, err := s.Tree(tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch {
		case !e.Captured():
		case e.Kind == Directory:
			err = s.Verify(e.ID)
		case e.Kind == Link:
			_, err = s.Target(e)
		default:
			err = s.Content(e, func([]byte) error { return nil })
		}
		if err != nil {
			return err
		}
	}
	return nil
}
