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

// A power cut takes what was not committed, and it does not take it from the end: a
// page that never reached the disk reads as zeros, because its room was taken in
// advance, while the page behind it may be there. Such a torn end begins with a record
// that is complete and wrong, like damage. Two things tell it apart. It lies behind
// the head in job.json, so nobody was promised that it survives; and it holds a NUL,
// which JSON never does.

// tornName begins the names of the files that torn ends are kept in.
const tornName = "journal.torn-"

// A tail is what stands behind the last sound record when a job is opened.
type tail struct {
	bytes int64
	aside bool // it holds whole records, so it is kept, not just cut off
}

// tornBehind reports whether the bad record that the reader stands before begins a
// torn end, given the head on record.
func (r *reader) tornBehind(recorded position) (bool, error) {
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

// tornTail returns the torn end that begins with the bad record, or, when it is
// nothing of the kind, the damage.
func (r *reader) tornTail(damage error, recorded position) (tail, error) {
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
func (r *reader) explain(err error, recorded position) error {
	damage := (*store.DamageError)(nil)
	if !errors.As(err, &damage) {
		return err
	}
	if torn, scan := r.tornBehind(recorded); scan != nil || !torn {
		return r.blame(err, recorded) // what is wrong with the record says more than a failed second look
	}
	repairable := *damage
	repairable.Torn = true
	repairable.Reason += "; continuing the job sets the torn end aside"
	return &repairable
}

// blame returns the damage at the record that the reader stands before, or, if it is
// the record behind the reader that was changed, that.
func (r *reader) blame(err error, recorded position) error {
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

// cutTail makes the journal end behind its last sound record.
func (j *journal) cutTail(t tail) error {
	if t.bytes == 0 {
		return nil
	}
	if !t.aside {
		if err := j.room.cut(j.now.length); err != nil {
			return fmt.Errorf("cut off an incomplete record: %w", err)
		}
		j.log.Info("cut off a record that was not written to its end", "after", j.now.head.Seq, "bytes", t.bytes)
		return nil
	}
	name, err := j.setAside(t.bytes)
	if err == nil {
		err = j.room.cut(j.now.length)
	}
	if err == nil {
		err = j.disk.sync(j.f) // or the next power cut brings the torn end back, behind new records
	}
	if err != nil {
		return fmt.Errorf("set aside a torn end: %w", err)
	}
	j.log.Warn("a power cut tore the end of the journal; what was not committed has been set aside",
		"after", j.now.head.Seq, "bytes", t.bytes, "file", filepath.Join(j.dir.Name(), name))
	return nil
}

// setAside copies the bytes behind the last sound record into a file of their own,
// and returns its name when it is durable.
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

// freeName returns the first name for a torn end that is not in use. The caller has
// the lock of the job, so nobody takes it in between.
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
