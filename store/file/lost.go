package file

import (
	"errors"
	"io/fs"
	"math"
	"os"

	"github.com/perstack-go/perstack/store"
)

// lost returns a [*store.LostError] if the journal was removed, replaced or truncated since it
// was opened. What is written to a file without a name is gone when the process ends, and no
// write and no sync fails.
func (j *journal) lost(upTo position) error {
	lost := &store.LostError{JobID: j.id, Path: j.path, Records: upTo.head.Seq}
	named, err := os.Lstat(j.path)
	opened, errOpen := j.f.Stat()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		lost.How = "removed"
	case err != nil:
		return err
	case errOpen != nil:
		return errOpen
	case !os.SameFile(named, opened):
		lost.How = "replaced"
		if named.Mode().IsRegular() {
			lost.Safe = j.copied(upTo.length)
		}
	case opened.Size() < upTo.length:
		j.mu.Lock()
		defer j.mu.Unlock()
		return j.resized(opened.Size())
	default:
		return nil
	}
	return lost
}

// copied returns how many of the first records the file has that took the place of the journal: a
// copy is as good as what was copied. A file that cannot be read has none.
func (j *journal) copied(length int64) (records int64) {
	f, err := os.OpenFile(j.path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return 0
	}
	defer f.Close()
	ours := reader{f: j.f, chain: store.Chain{JobID: j.id}, fleeting: true}
	theirs := reader{f: f, chain: store.Chain{JobID: j.id}, fleeting: true}
	for ours.end < length {
		_, err := ours.next(math.MaxInt64)
		_, errTheirs := theirs.next(math.MaxInt64)
		if err != nil || errTheirs != nil || ours.chain.Head != theirs.chain.Head {
			break
		}
		records++
	}
	return records
}

// gap returns a [*store.LostError] if the journal was truncated just before the record that was
// written behind the last one: then zeros precede it. The caller holds mu.
func (j *journal) gap() error {
	if j.now.length == 0 {
		return nil
	}
	var end [1]byte
	if _, err := j.f.ReadAt(end[:], j.now.length-1); err != nil {
		return err
	}
	if end[0] == '\n' {
		return nil
	}
	return j.resized(0)
}

// resized returns a [*store.LostError] if the journal does not end after its last record. It is
// asked before a record is written: behind a gap, the record would make the file long enough
// again. The caller holds mu.
func (j *journal) resized(size int64) error {
	if size == j.now.length {
		return nil
	}
	lost := &store.LostError{JobID: j.id, Path: j.path, Records: j.now.head.Seq, Safe: j.now.head.Seq, How: "extended"}
	if size < j.now.length {
		lost.How = "truncated"
		r := reader{f: j.f, chain: store.Chain{JobID: j.id}, fleeting: true}
		for err := error(nil); err == nil; {
			_, err = r.next(math.MaxInt64)
		}
		lost.Safe = r.chain.Head.Seq
	}
	return lost
}
