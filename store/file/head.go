package file

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/store"
)

// The file "head" says how far the journal was committed, so that a journal that is shorter
// was cut back. A commit overwrites it in place with one small write, after the journal is
// durable: a sector of a disk is written whole or not at all, so a power cut leaves the old
// head or the new one. It is made durable only where the run waits for the disk anyway, since
// an older head is true as well.

const headName = "head"

// headSize is the size of the file: a line that is filled up with spaces. It is less than a
// sector.
const headSize = 320

// A recordedHead is the content of the file.
type recordedHead struct {
	Seq    int64        `json:"seq"`
	Digest store.Digest `json:"digest"`
	Length int64        `json:"length"`
	Seal   string       `json:"seal,omitzero"`
}

// anyLength is the recorded length if the file exists and cannot be read: the journal may
// have been durable up to any point.
const anyLength = math.MaxInt64

// A mark is what the file says about the last commit.
type mark struct {
	head   store.Head
	length int64 // of the journal
	seal   string
}

// readHead returns what the file says. A missing file gives the mark before the first record;
// an invalid one gives that with [anyLength], and an error.
func readHead(dir *os.Root) (mark, error) {
	f, err := openRegular(dir, headName)
	if errors.Is(err, fs.ErrNotExist) {
		return mark{}, nil
	}
	unknown := mark{length: anyLength}
	if err != nil {
		return unknown, err
	}
	defer f.Close()
	var h recordedHead
	if err := json.UnmarshalRead(io.LimitReader(f, headSize), &h, json.RejectUnknownMembers(true)); err != nil {
		return unknown, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	if h.Seq < 0 || h.Length < 0 || (h.Seq == 0) != (h.Length == 0) {
		return unknown, fmt.Errorf("read %s: it is not a head", f.Name())
	}
	return mark{store.Head{Seq: h.Seq, Digest: h.Digest}, h.Length, h.Seal}, nil
}

// openHead opens the file for writing. For a new journal it is made before the first record, so
// that a journal without it is one whose head was removed.
func (j *journal) openHead() error {
	_, err := j.dir.Lstat(headName)
	if errors.Is(err, fs.ErrNotExist) {
		line, err := j.headLine(position{})
		if err == nil {
			err = j.disk.replace(j.dir, headName, bytes.NewReader(line), false)
		}
		if err != nil {
			return err
		}
	}
	j.headFile, err = j.disk.openFile(j.dir, headName, os.O_RDWR)
	return err
}

// headLine returns the content of the file, which always has the same length.
func (j *journal) headLine(p position) ([]byte, error) {
	seal, err := j.sealer.SealHead(p.project, j.id, p.head)
	if err != nil {
		return nil, err
	}
	line := fmt.Appendf(nil, `{"seq":%d,"digest":"%s","length":%d`, p.head.Seq, p.head.Digest, p.length)
	if seal != "" {
		line = fmt.Appendf(line, `,"seal":"%s"`, seal)
	}
	return fmt.Appendf(nil, "%-*s\n", headSize-1, append(line, '}')), nil
}

// writeHead records a commit, durably where asked. If that fails, an older head stays, which is
// true as well. The caller holds syncing.
func (j *journal) writeHead(p position, durable bool) {
	line, err := j.headLine(p)
	if err == nil {
		err = j.findHead(line)
	}
	if err == nil {
		err = j.disk.writeAt(j.headFile, line, 0)
	}
	if err == nil && durable {
		err = j.disk.sync(j.headFile)
	}
	if err != nil {
		j.log.Warn("the head of the journal could not be written; a journal that is cut back may not be noticed", "error", err)
	}
}

// findHead makes the file again if another program removed or replaced it. This process knows how
// far the journal is, so nothing is lost; without the file, the job would be refused as one that
// may have been cut back.
func (j *journal) findHead(line []byte) error {
	named, err := j.dir.Lstat(headName)
	opened, errOpen := j.headFile.Stat()
	if err == nil && errOpen == nil && os.SameFile(named, opened) {
		return nil
	}
	j.log.Warn("another program removed or replaced the head of the journal; it is written again")
	if err := j.disk.replace(j.dir, headName, bytes.NewReader(line), false); err != nil {
		return err
	}
	f, err := j.disk.openFile(j.dir, headName, os.O_RDWR)
	if err != nil {
		return err
	}
	err = j.headFile.Close()
	j.headFile = f
	return err
}
