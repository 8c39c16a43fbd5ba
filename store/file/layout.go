package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/perstack-go/perstack/store"
)

const (
	jobsName    = "jobs"
	journalName = "journal.jsonl"
	summaryName = "job.json"
	lockName    = "lock"

	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// openJob opens the directory of a job for reading. It is [store.ErrNotFound] if it
// does not exist.
func (s *Store) openJob(jobID string) (*os.Root, error) {
	root, err := s.openRoot()
	if err == nil {
		defer root.Close()
		var dir *os.Root
		if dir, err = openDir(root, jobID); err == nil {
			return dir, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, store.NotFound(jobID)
	}
	return nil, fmt.Errorf("read job %s: %w", jobID, err)
}

// openDir opens jobs/<jobID>. A symbolic link is refused, even one that stays within
// the storage: two names of one journal would be two jobs with one history.
func openDir(root *os.Root, jobID string) (*os.Root, error) {
	for _, name := range []string{jobsName, path.Join(jobsName, jobID)} {
		if _, err := lstatDir(root, name); err != nil {
			return nil, err
		}
	}
	return root.OpenRoot(path.Join(jobsName, jobID))
}

// lstatDir looks at what must be a directory before it is opened, since the opening of
// a pipe would not return.
func lstatDir(root *os.Root, name string) (fs.FileInfo, error) {
	info, err := root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory (%s); move it away, or choose another storage with --storage", filepath.Join(root.Name(), name), kind(info.Mode()))
	}
	return info, err
}

// jobNames returns the entries of the directory of jobs, none if there is no such
// directory.
func (s *Store) jobNames() ([]string, error) {
	root, err := s.openRoot()
	if err != nil {
		return nil, ignoreMissing(err)
	}
	defer root.Close()
	if _, err := lstatDir(root, jobsName); err != nil {
		return nil, ignoreMissing(err)
	}
	jobs, err := root.OpenFile(jobsName, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	defer jobs.Close()
	return jobs.Readdirnames(-1)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// hasRecords reports whether there is anything to continue.
func (s *Store) hasRecords(jobID string) bool {
	dir, err := s.openJob(jobID)
	if err != nil {
		return false
	}
	defer dir.Close()
	info, err := dir.Lstat(journalName)
	return err == nil && info.Size() > 0
}

// makeJob creates what is missing of <storage>/jobs/<jobID> and opens it. The second
// result names the directories whose entries must reach the disk with a new journal.
func (s *Store) makeJob(jobID string) (*os.Root, []string, error) {
	root, parents, err := s.makeRoot()
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	if err := s.makeDir(root, path.Join(jobsName, jobID)); err != nil {
		return nil, nil, err
	}
	dir, err := openDir(root, jobID)
	if err != nil {
		return nil, nil, err
	}
	jobs := filepath.Join(s.dir, jobsName)
	return dir, append([]string{filepath.Join(jobs, jobID), jobs, s.dir}, parents...), nil
}

// makeRoot creates what is missing of the storage itself and opens it. The second result
// names the directories above it that got an entry.
func (s *Store) makeRoot() (*os.Root, []string, error) {
	parents, err := s.disk.makeStorage(s.dir)
	if err != nil {
		return nil, nil, err
	}
	root, err := s.openRoot()
	if err != nil {
		return nil, nil, err
	}
	if err = s.makeDir(root, jobsName); err == nil {
		err = s.ignoreFile(root)
	}
	if err != nil {
		root.Close()
		return nil, nil, err
	}
	return root, parents, nil
}

// Prepare creates the storage directory, as the first [Store.Open] would. It is for those
// who have to hide it before there is anything in it.
func (s *Store) Prepare() error {
	root, parents, err := s.makeRoot()
	if err != nil {
		return fmt.Errorf("storage %s: %w", s.dir, err)
	}
	defer root.Close()
	for _, dir := range parents {
		if err := s.disk.syncDir(dir); err != nil && !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("storage %s: %w", s.dir, err)
		}
	}
	return nil
}

// makeDir creates a directory for our eyes only. One that is there already is kept from
// others, but is never given permissions: an owner who took them away meant it.
func (s *Store) makeDir(root *os.Root, name string) error {
	err := s.disk.mkdir(root, name)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return unwritable(filepath.Join(s.dir, filepath.Dir(name)), err)
	}
	made := err == nil
	info, err := lstatDir(root, name)
	if err != nil {
		return err
	}
	mode, ok := privateMode(info.Mode(), dirMode, made)
	if ok {
		return nil
	}
	if err := s.disk.chmodDir(root, name, mode); err != nil {
		return notPrivate(filepath.Join(s.dir, name), err)
	}
	return nil
}
