package file

import (
	"errors"
	"fmt"
	"io"
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
	root, err := os.OpenRoot(s.dir)
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
		info, err := root.Lstat(name)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("%s is not a directory (%s); move it away", filepath.Join(root.Name(), name), kind(info.Mode()))
		}
	}
	return root.OpenRoot(path.Join(jobsName, jobID))
}

// makeJob creates what is missing of <storage>/jobs/<jobID> and opens it. The second
// result names the directories whose entries must reach the disk with a new journal.
func (s *Store) makeJob(jobID string) (*os.Root, []string, error) {
	parents, err := makeStorage(s.dir)
	if err != nil {
		return nil, nil, err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	if err := ignoreFile(root); err != nil {
		return nil, nil, err
	}
	for _, name := range []string{jobsName, path.Join(jobsName, jobID)} {
		if err := root.Mkdir(name, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, nil, err
		}
		info, err := root.Lstat(name)
		if err != nil {
			return nil, nil, err
		}
		if info.IsDir() && !private(info.Mode(), dirMode) {
			if err := root.Chmod(name, dirMode); err != nil {
				return nil, nil, notPrivate(name, err)
			}
		}
	}
	dir, err := openDir(root, jobID)
	if err != nil {
		return nil, nil, err
	}
	jobs := filepath.Join(s.dir, jobsName)
	return dir, append([]string{filepath.Join(jobs, jobID), jobs, s.dir}, parents...), nil
}

// makeStorage creates the storage directory, and returns the directories above it that
// got a new entry; the one that holds the storage always counts, since a process that
// created it may have died before it was durable. The mode of a directory that the
// user made is the user's affair: what we put inside is private by itself.
func makeStorage(dir string) ([]string, error) {
	var parents []string
	top := dir
	for {
		_, err := os.Lstat(top)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || top == filepath.Dir(top) {
			break
		}
		top = filepath.Dir(top)
		parents = append(parents, top)
	}
	if len(parents) == 0 {
		return []string{filepath.Dir(dir)}, nil
	}
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, err
	}
	return parents, os.Chmod(dir, dirMode)
}

// ignoreFile keeps a new storage out of version control: it holds conversations. Only
// an empty directory gets the file, lest a storage path that points at a project hide
// the project.
func ignoreFile(root *os.Root) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	_, err = dir.ReadDir(1)
	dir.Close()
	if !errors.Is(err, io.EOF) {
		return err // nil, if there is something in it
	}
	f, err := root.OpenFile(".gitignore", os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString("*\n")
	return errors.Join(err, makePrivate(f), f.Close())
}

// openRegular opens a file for reading. It does not wait on a pipe that someone put
// in its place, and refuses everything that is no regular file.
func openRegular(dir *os.Root, name string) (*os.File, error) {
	return openFile(dir, name, os.O_RDONLY)
}

func openFile(dir *os.Root, name string, flag int) (*os.File, error) {
	refuse := func(mode fs.FileMode) error {
		return fmt.Errorf("%s is not a regular file (%s); move it away", filepath.Join(dir.Name(), name), kind(mode))
	}
	if info, err := dir.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, refuse(info.Mode())
	}
	f, err := dir.OpenFile(name, flag|nonblock, fileMode)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat() // it may have been replaced since
	if err == nil && !info.Mode().IsRegular() {
		err = refuse(info.Mode())
	}
	if err == nil && flag&os.O_CREATE != 0 {
		err = makePrivate(f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// makePrivate gives an open file the mode 0600, whatever the umask was and whoever
// copied it here.
func makePrivate(f *os.File) error {
	info, err := f.Stat()
	if err != nil || private(info.Mode(), fileMode) {
		return err
	}
	if err := f.Chmod(fileMode); err != nil {
		return notPrivate(f.Name(), err)
	}
	return nil
}

func notPrivate(name string, err error) error {
	return fmt.Errorf("%s cannot be kept from other users: %w; use a storage directory of your own, on a file system with permissions", name, err)
}

// kind names the type of a file in words.
func kind(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "it is a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "it is a pipe"
	case mode.IsDir():
		return "it is a directory"
	case mode.IsRegular():
		return "it is a file"
	}
	return "it is a device or a socket"
}
