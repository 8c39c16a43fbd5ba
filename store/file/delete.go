package file

import (
	"context"
	"errors"
	"os"
	"path"
)

// deletedName is the directory of a job that is being deleted. It is hidden, so that a job is there
// or not, and never there in part.
const deletedName = ".deleted"

// Delete removes a job with all its records. It is a [*store.LockedError] if the job is being written.
func (s *Store) Delete(ctx context.Context, jobID string) (err error) {
	dir, err := s.openJob(jobID)
	if err != nil {
		return err
	}
	defer dir.Close()
	if f, err := s.disk.openFile(dir, journalName, os.O_RDWR); err == nil {
		defer f.Close()
		switch ok, err := acquire(ctx, f); {
		case err != nil:
			return err
		case !ok:
			return locked(dir, jobID)
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	root, err := s.openRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	deleted := path.Join(jobsName, deletedName)
	if err := root.RemoveAll(deleted); err != nil { // of a process that was killed
		return err
	}
	err = s.disk.do(OpRename, jobID, func() error { return root.Rename(path.Join(jobsName, jobID), deleted) })
	if err != nil {
		return err
	}
	return root.RemoveAll(deleted)
}
