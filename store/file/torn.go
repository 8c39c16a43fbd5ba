package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/perstack-go/perstack/store"
)

// A power cut loses what was not committed, and not only at the end: a page that never
// reached the disk reads as zeros, because its space was reserved, while the page after it
// may be there. Such a torn end begins with a record that is complete and wrong, like
// damage. Two things tell it apart. It lies after the recorded head, so it was never
// committed; and it contains a NUL, which JSON never does.

// tornName is the prefix of the files that torn ends are moved to.
const tornName = "journal.torn-"

// A tail is what follows the last valid record when a job is opened.
type tail struct {
	bytes int64
	aside bool // it contains whole records, so it is kept in a file before it is cut off
}

// damaged reports whether an error of the reader is about a record that is wrong.
func damaged(err error) bool {
	_, ok := errors.AsType[*store.DamageError](err)
	return ok
}

// tornBehind reports whether the bad record after r.end begins a torn end, given the
// recorded head.
func (r *reader) tornBehind(recorded mark) (bool, error) {
	if r.chain.Head.Seq < recorded.head.Seq || r.end < recorded.length {
		return false, nil
	}
	rest := io.NewSectionReader(r.f, r.end, math.MaxInt64-r.end)
	buf := make([]byte, chunk)
	for {
		n, err := rest.Read(buf)
		switch {
		case bytes.IndexByte(buf[:n], 0) >= 0:
			return true, nil
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		}
	}
}

// tornTail returns the torn end that begins with the bad record, or the damage if it is not
// a torn end.
func (r *reader) tornTail(damage error, recorded mark) (tail, error) {
	torn, err := r.tornBehind(recorded)
	if err != nil {
		return tail{}, err
	}
	if !torn {
		return tail{}, r.blame(damage, recorded)
	}
	info, err := r.f.Stat()
	if err != nil {
		return tail{}, err
	}
	return tail{bytes: info.Size() - r.end, aside: true}, nil
}

// explain adds to an error of the reader that the next writer will repair it, if so.
func (r *reader) explain(err error, recorded mark) error {
	damage, ok := errors.AsType[*store.DamageError](err)
	if !ok {
		return err
	}
	if torn, scan := r.tornBehind(recorded); scan != nil || !torn {
		return r.blame(err, recorded) // the first error says more than a failed scan
	}
	repairable := *damage
	repairable.Torn = true
	repairable.Reason += "; continuing the job sets the torn end aside"
	return &repairable
}

// blame returns the damage at the record after r.end, or at the record before it, if that
// is the one that was changed.
func (r *reader) blame(err error, recorded mark) error {
	r.buf = nil
	line, lineErr := r.line()
	if lineErr != nil {
		return err
	}
	line = bytes.Clone(line)
	next, nextErr := r.line()
	if nextErr != nil {
		next = nil // there is none
	}
	if link := r.chain.BrokenLink(line, next, recorded.head); link != nil {
		return link
	}
	return err
}

// cutTail makes the journal end after its last valid record.
func (j *journal) cutTail(t tail) error {
	if t.bytes == 0 {
		return nil
	}
	if !t.aside {
		if err := j.reserve.cut(j.now.length); err != nil {
			return fmt.Errorf("cut off an incomplete record: %w", err)
		}
		j.log.Info("cut off a record that was not written to its end", "after", j.now.head.Seq, "bytes", t.bytes)
		return nil
	}
	name, err := j.setAside(t.bytes)
	if err == nil {
		err = j.reserve.cut(j.now.length)
	}
	if err == nil {
		err = j.disk.sync(j.f) // otherwise the next power cut could bring the torn end back, after new records
	}
	if err != nil {
		return fmt.Errorf("set aside a torn end: %w", err)
	}
	j.log.Warn("a power cut tore the end of the journal; what was not committed has been set aside",
		"after", j.now.head.Seq, "bytes", t.bytes, "file", filepath.Join(j.dir.Name(), name))
	return nil
}

// setAside copies the bytes after the last valid record into a file of their own, and
// returns its name when it is durable.
func (j *journal) setAside(length int64) (string, error) {
	name, err := freeName(j.dir)
	if err == nil {
		err = j.disk.replace(j.dir, name, io.NewSectionReader(j.f, j.now.length, length), true)
	}
	if err == nil {
		err = j.disk.syncDir(j.parents[0])
	}
	return name, err
}

// freeName returns the first unused name for a torn end. The caller has the lock of the
// job, so the name stays free.
func freeName(dir *os.Root) (string, error) {
	for n := 1; ; n++ {
		name := tornName + strconv.Itoa(n)
		if _, err := dir.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return name, nil
		} else if err != nil {
			return "", err
		}
	}
}
