package snapshot

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/opendir"
)

// A writing adds what is new to the store.
type writing struct {
	store  *Store
	root   opendir.Dir
	scan   *scan
	space  int64       // bytes that contents can take in the store
	pack   *packWriter // nil while nothing is new
	dir    string      // the directory that is open, relative to the root
	open   *opendir.Dir
	buffer []byte
}

func (w *writing) end() {
	if w.open != nil {
		w.open.Close()
	}
	if w.pack != nil {
		w.pack.discard()
	}
}

// add stores an object unless the store has it.
func (w *writing) add(k kind, id ID, content []byte) error {
	if has, err := w.has(id); has || err != nil {
		return err
	}
	if w.pack == nil {
		var err error
		if w.pack, err = newPack(w.store.packDir); err != nil {
			return err
		}
	}
	return w.pack.add(k, id, content)
}

// content stores content that was read from the workspace.
func (w *writing) content(k kind, content []byte) (ID, error) {
	id := identify(k, content)
	if w.size()+int64(len(content)) > w.space {
		known, err := w.has(id)
		switch {
		case err != nil:
			return ID{}, &storeError{err}
		case !known:
			return ID{}, errFull
		}
	}
	if err := w.add(k, id, content); err != nil {
		return ID{}, &storeError{err}
	}
	return id, nil
}

// errFull says that new content has no space in the store.
var errFull = errors.New("the stored files would take too much space")

// size returns how many bytes are new.
func (w *writing) size() int64 {
	if w.pack == nil {
		return 0
	}
	return w.pack.offset
}

func (w *writing) has(id ID) (bool, error) {
	if w.pack != nil && w.pack.has(id) {
		return true, nil
	}
	return w.store.has(id)
}

func (w *writing) commit() (int64, error) {
	if w.pack == nil {
		return 0, nil
	}
	pack := w.pack
	w.pack = nil
	_, err := pack.commit()
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	return pack.offset, errors.Join(err, w.store.openPacks())
}

// contents reads the files that have to be read. If they are too large together, it takes the
// smallest, because there are more of them.
func (w *writing) contents(ctx context.Context) error {
	files := w.scan.pending
	var sum int64
	for _, f := range files {
		sum += f.node.entry.Size
	}
	if sum > w.scan.options.MaxBytes {
		bySize := slices.Clone(files)
		slices.SortStableFunc(bySize, func(a, b pendingFile) int { return int(min(max(a.node.entry.Size-b.node.entry.Size, -1), 1)) })
		for _, f := range slices.Backward(bySize) {
			if sum <= w.scan.options.MaxBytes {
				break
			}
			sum -= f.node.entry.Size
			w.skip(f, "the snapshot would be too large")
		}
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !f.node.entry.Captured() {
			continue
		}
		if w.scan.late() {
			w.skip(f, "the snapshot took too long")
			continue
		}
		if err := w.file(f); err != nil {
			return err
		}
	}
	return nil
}

func (w *writing) skip(f pendingFile, why string) {
	f.node.entry.Flags |= NotCaptured
	w.scan.result.skip(join(f.dir, f.node.entry.Name), why)
}

// file stores a file. One that keeps changing is stored as it was read last.
func (w *writing) file(f pendingFile) error {
	d, err := w.openDir(f.dir)
	if err != nil {
		w.skip(f, reason(err))
		return nil
	}
	const tries = 3
	for try := range tries {
		stable, err := w.read(d, f)
		var store *storeError
		switch {
		case errors.As(err, &store):
			return store.err
		case err != nil:
			w.skip(f, reason(err))
			return nil
		case stable:
			w.scan.result.Read++
			return nil
		case try == tries-1:
			f.node.entry.Flags |= Torn
			f.node.unsure = true
			w.scan.result.Read++
			w.scan.result.Torn = append(w.scan.result.Torn, join(f.dir, f.node.entry.Name))
		}
	}
	return nil
}

// A storeError is about the store, not about the workspace.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }

// read reads a file or a link and stores its content. It reports whether it stayed the same meanwhile.
func (w *writing) read(d opendir.Dir, f pendingFile) (stable bool, err error) {
	if f.node.entry.Kind == Link {
		target, err := d.Target(f.node.entry.Name)
		if err == nil {
			f.node.entry.ID, err = w.content(blobKind, []byte(target))
		}
		return true, err
	}
	file, err := w.readClosed(d, f)
	if err != nil {
		return false, err
	}
	defer file.Close()
	before, err := opendir.StatFile(file)
	if err != nil {
		return false, err
	}
	if before.Size > w.scan.options.MaxFileBytes {
		return false, errors.New("larger than a snapshot takes")
	}
	e := &f.node.entry
	e.Flags &^= Chunked
	if before.Size > maxWhole {
		e.Flags |= Chunked
		err = w.chunks(file, before.Size, e)
	} else {
		err = w.whole(file, before.Size, e)
	}
	if err != nil {
		return false, err
	}
	after, err := opendir.StatFile(file)
	f.node.stamp, e.Mode = after.Stamp, after.Mode
	return err == nil && before == after && e.Size == after.Size, err
}

// whole stores a file as one blob.
func (w *writing) whole(file *os.File, size int64, e *Entry) error {
	w.buffer = slices.Grow(w.buffer[:0], int(size))[:size]
	n, err := io.ReadFull(file, w.buffer)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	e.Size = int64(n)
	e.ID, err = w.content(blobKind, w.buffer[:n])
	return err
}

// chunks stores a file as a list of blobs. Chunks of zeros are not stored, and holes are not read.
func (w *writing) chunks(file *os.File, size int64, e *Entry) error {
	w.buffer = slices.Grow(w.buffer[:0], chunkSize)[:chunkSize]
	var ids []ID
	e.Size = 0
	data := int64(0) // where the next data is; before it is a hole
	for at := int64(0); at < size; at += chunkSize {
		length := min(size-at, chunkSize)
		if data < at+length && data <= at {
			next, err := opendir.NextData(file, at)
			if errors.Is(err, io.EOF) {
				next = size
			}
			data = next
		}
		if data >= at+length {
			ids = append(ids, ID{})
			e.Size += length
			continue
		}
		n, err := file.ReadAt(w.buffer[:length], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		e.Size += int64(n)
		var id ID
		if content := w.buffer[:n]; !bytes.Equal(content, zeros[:n]) {
			if id, err = w.content(blobKind, content); err != nil {
				return err
			}
		}
		ids = append(ids, id)
		if int64(n) < length {
			break // it became shorter
		}
	}
	var err error
	e.ID, err = w.content(chunksKind, encodeChunks(ids))
	return err
}

var zeros [chunkSize]byte

// openDir opens the directory of a file. The last one stays open, because files come in the order
// of their directories.
func (w *writing) openDir(path string) (opendir.Dir, error) {
	if path == "" {
		return w.root, nil
	}
	if w.open != nil {
		if w.dir == path {
			return *w.open, nil
		}
		w.open.Close()
		w.open = nil
	}
	d := w.root
	for name := range strings.SplitSeq(path, "/") {
		sub, err := d.Sub(name)
		if d != w.root {
			d.Close()
		}
		if err != nil {
			return opendir.Dir{}, err
		}
		d = sub
	}
	w.dir, w.open = path, &d
	return d, nil
}

// tree stores the trees of a directory and of those below it. What equals the tree that was seen
// last is stored already.
func (w *writing) tree(n, last *node) error {
	before := last.inOrder()
	for i := range n.children {
		child := &n.children[i]
		if child.entry.Kind == Directory && child.entry.Captured() {
			if err := w.tree(child, before.find(child.entry.Name)); err != nil {
				return err
			}
		}
	}
	if last.lists(n) { // most do, and then nothing has to be hashed
		n.entry.ID = last.entry.ID
		return nil
	}
	entries := make([]Entry, len(n.children))
	for i := range n.children {
		entries[i] = n.children[i].entry
	}
	content := encodeTree(entries)
	n.entry.ID = identify(treeKind, content)
	if last != nil && last.entry.ID == n.entry.ID {
		return nil
	}
	return w.add(treeKind, n.entry.ID, content)
}
