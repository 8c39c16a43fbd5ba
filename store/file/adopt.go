package file

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Adopt moves the jobs of another store into this one, and returns their ids. It calls
// [Store.CheckAdopt] first. What happens to a job after that is a part of the error, and the job
// stays where it is. Both stores must be on one file system.
func (s *Store) Adopt(ctx context.Context, from *Store) (moved []string, err error) {
	if err := s.CheckAdopt(ctx, from); err != nil {
		return nil, err
	}
	names, err := from.JobIDs(ctx)
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
		if err := ctx.Err(); err != nil {
			problems = append(problems, err)
			break
		}
		rename := func(source, target string) error {
			return s.disk.do(OpRename, name, func() error { return os.Rename(source, target) })
		}
		if err := s.withJob(ctx, from, name, rename); err != nil {
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

// maxRefused is how many jobs an error names.
const maxRefused = 10

// CheckAdopt returns an error if [Store.Adopt] could not move all jobs of another store: if one is
// being written, or if both stores have one of the same id. It changes nothing.
func (s *Store) CheckAdopt(ctx context.Context, from *Store) error {
	names, err := from.JobIDs(ctx)
	if err != nil {
		return err
	}
	slices.Sort(names)
	var refused []error
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.withJob(ctx, from, name, func(_, _ string) error { return nil }); err != nil {
			refused = append(refused, fmt.Errorf("job %s cannot be moved: %w", name, err))
		}
	}
	if more := len(refused) - maxRefused; more > 0 {
		refused = append(refused[:maxRefused], fmt.Errorf("and %d more jobs cannot be moved", more))
	}
	return errors.Join(refused...)
}

// withJob calls do with the directory of a job in another store and the one that it would have here,
// while no other process writes the job.
func (s *Store) withJob(ctx context.Context, from *Store, jobID string, do func(source, target string) error) error {
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
		return fmt.Errorf("this project has a job of that id, too; delete one of them, or move %s or %s to another place, then try again", source, target)
	}
	return do(source, target)
}
