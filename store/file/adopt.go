package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/perstack-go/perstack/store"
)

// Adopt moves the jobs of another store into this one, and returns their ids. A job that is
// being written, or that both stores have, stays where it is and is part of the error. Both
// stores must be on one file system.
func (s *Store) Adopt(ctx context.Context, from *Store) (moved []string, err error) {
	names, err := from.jobNames()
	if err != nil {
		return nil, err
	}
	root, parents, err := s.makeRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var problems []error
	for _, name := range names {
		if store.CheckID(name) != nil {
			continue // not a job
		}
		if err := ctx.Err(); err != nil {
			problems = append(problems, err)
			break
		}
		if err := s.adopt(ctx, from, name); err != nil {
			problems = append(problems, fmt.Errorf("job %s was not moved: %w", name, err))
			continue
		}
		moved = append(moved, name)
	}
	for _, dir := range append([]string{filepath.Join(s.dir, jobsName), filepath.Join(from.dir, jobsName)}, parents...) {
		if err := s.disk.syncDir(dir); err != nil && !errors.Is(err, fs.ErrPermission) {
			problems = append(problems, err)
		}
	}
	return moved, errors.Join(problems...)
}

// adopt moves the directory of one job, while no other process writes it.
func (s *Store) adopt(ctx context.Context, from *Store, jobID string) error {
	dir, err := from.openJob(jobID)
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := s.disk.openFile(dir, journalName, os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	switch ok, err := acquire(ctx, f); {
	case err != nil:
		return err
	case !ok:
		return locked(dir, jobID)
	}
	source, target := filepath.Join(from.dir, jobsName, jobID), filepath.Join(s.dir, jobsName, jobID)
	if _, err := os.Lstat(target); err == nil {
		return fmt.Errorf("this project has a job of that id, too; move %s or %s to another place or remove it, then try again", source, target)
	}
	return s.disk.do(OpRename, jobID, func() error { return os.Rename(source, target) })
}
