package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/filelock"
	"github.com/perstack-go/perstack/store"
)

const (
	// deletedName is the directory of jobs that are being deleted. It is hidden, so that a job is there
	// or not, and never there in part.
	deletedName = ".deleted"
	// deleteTries is how often a job is moved there while other processes delete jobs, too.
	deleteTries = 100
	// deletedLog names the jobs that were deleted.
	deletedLog = "deleted.jsonl"
)

// A Deletion is a line of deleted.jsonl: what is left of a deleted job.
type Deletion struct {
	ID     string       `json:"id"`
	Seq    int64        `json:"seq"`    // number of the last record; 0 if there was none
	Digest store.Digest `json:"digest"` // of the last record
	At     time.Time    `json:"at"`
}

// Delete removes a job with all its records, and notes its id and the digest of its last record. It is
// a [*store.LockedError] if the job is being written.
func (s *Store) Delete(ctx context.Context, jobID string, at time.Time) (err error) {
	dir, err := s.openJob(jobID)
	if err != nil {
		return err
	}
	defer dir.Close()
	last := s.head(dir, jobID).head
	if f, err := s.disk.openFile(dir, journalName, os.O_RDWR); err == nil {
		defer f.Close()
		switch ok, err := acquire(ctx, f); {
		case err != nil:
			return err
		case !ok:
			return locked(dir, jobID)
		}
		if head, ok := lastRecord(f); ok {
			last = head
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	root, err := s.openRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	// First: a note about a job that is still there does less harm than a job that is gone without one.
	if err := s.noteDeletion(ctx, root, Deletion{ID: jobID, Seq: last.Seq, Digest: last.Digest, At: at.UTC()}); err != nil {
		return fmt.Errorf("note in %s that job %s is deleted: %w", deletedLog, jobID, err)
	}
	return s.discard(root, jobID)
}

// discard moves the directory of a job aside and removes it there, with what killed processes left.
func (s *Store) discard(root *os.Root, jobID string) (err error) {
	aside := path.Join(jobsName, deletedName)
	for range deleteTries { // another process that is done removes the directory
		if err := root.Mkdir(aside, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		err = s.disk.do(OpRename, jobID, func() error { return root.Rename(path.Join(jobsName, jobID), path.Join(aside, jobID)) })
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		return err
	}
	left, err := fs.ReadDir(root.FS(), aside)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another process has removed it all
	}
	for _, e := range left {
		err = errors.Join(err, root.RemoveAll(path.Join(aside, e.Name())))
	}
	_ = root.Remove(aside) // fails if another process uses it
	return err
}

// lastRecord returns the head of a journal without reading all of it. It is false if the last line is
// not a whole record.
func lastRecord(f *os.File) (store.Head, bool) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return store.Head{}, false
	}
	var end [1]byte
	if _, err := f.ReadAt(end[:], info.Size()-1); err != nil || end[0] != '\n' {
		return store.Head{}, false
	}
	line, err := lineBefore(f, info.Size())
	if err != nil {
		return store.Head{}, false
	}
	r, err := store.DecodeRecord(line)
	if err != nil && !errors.Is(err, event.ErrUnknownType) {
		return store.Head{}, false
	}
	return store.Head{Seq: r.Seq, Digest: r.Digest()}, true
}

// noteDeletion appends a line to deleted.jsonl.
func (s *Store) noteDeletion(ctx context.Context, root *os.Root, d Deletion) error {
	line, err := json.Marshal(d)
	if err != nil {
		return err
	}
	f, err := s.disk.openFile(root, deletedLog, os.O_RDWR|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	err = filelock.Wait(ctx, f) // a line that another process is writing is not one that was torn
	var info fs.FileInfo
	if err == nil {
		info, err = f.Stat()
	}
	if err == nil && info.Size() > 0 {
		var end [1]byte
		if _, err = f.ReadAt(end[:], info.Size()-1); err == nil && end[0] != '\n' {
			line = append([]byte{'\n'}, line...) // a power cut tore the last one
		}
	}
	if err == nil {
		_, err = s.disk.write(deletedLog, append(line, '\n'), f.Write)
	}
	if err == nil {
		err = s.disk.sync(f)
	}
	return errors.Join(err, f.Close())
}
