package file

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

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
	if err := store.CheckID(jobID); err != nil {
		return nil, err
	}
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

// lstatDir checks that a name is a directory before it is opened: opening a pipe would
// block.
func lstatDir(root *os.Root, name string) (fs.FileInfo, error) {
	info, err := root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory (%s); move it away, or choose another storage directory", filepath.Join(root.Name(), name), kind(info.Mode()))
	}
	return info, err
}

// jobNames returns the entries of the directory of jobs that can be jobs, none if there is no
// such directory. Hidden entries are left out: file managers and version control create them. At most
// so many entries are read, all if most is negative.
func (s *Store) jobNames(most int) ([]string, error) {
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
	names, err := jobs.Readdirnames(most)
	if errors.Is(err, io.EOF) { // there are none, and only some were asked for
		err = nil
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, ".") }), err
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

// Prepare creates the storage directory, as the first [Store.Open] would. It is for callers
// that must hide it before it has content.
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

// makeDir creates a private directory. From an existing one it removes the rights of other
// users, but it never adds rights: the owner may have removed them on purpose.
func (s *Store) makeDir(root *os.Root, name string) error {
	err := s.disk.do(OpMkdir, name, func() error { return root.Mkdir(name, dirMode) })
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
	if err := s.disk.do(OpChmod, name, func() error { return root.Chmod(name, mode) }); err != nil {
		return notPrivate(filepath.Join(s.dir, name), err)
	}
	return nil
}

const ignoreName = ".gitignore"

// ignoreFile keeps conversations out of version control. The file is at the top of the
// storage directory if nothing else is there, and otherwise in the directory of the jobs:
// a storage path that is a project must not hide the project, and a repository that
// contains a perstack directory must not get conversations committed. An existing file is
// kept, unless it is empty: the file is not synced, and a power cut can leave an empty one.
// The directory of the jobs exists.
func (s *Store) ignoreFile(root *os.Root) error {
	for _, name := range []string{ignoreName, path.Join(jobsName, ignoreName)} {
		if info, err := root.Lstat(name); err == nil && info.Size() > 0 {
			return nil
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	dir := "."
	if shared, err := isShared(root); err != nil {
		return err
	} else if shared {
		dir = jobsName
	}
	// Another process may be doing the same, so each has a temporary file of its own.
	temp := path.Join(dir, ignoreName+"."+rand.Text()+".tmp")
	err := s.disk.replaceBy(root, temp, path.Join(dir, ignoreName), strings.NewReader("*\n"), false)
	return unwritable(filepath.Join(s.dir, dir), err)
}

// isShared reports whether the storage directory contains files that are not ours.
func isShared(root *os.Root) (bool, error) {
	dir, err := root.Open(".")
	if err != nil {
		return false, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	return slices.ContainsFunc(names, func(name string) bool {
		return name != jobsName && name != deletedLog && !strings.HasPrefix(name, ignoreName) // what a crash left of our file
	}), err
}
