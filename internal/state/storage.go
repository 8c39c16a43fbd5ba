package state

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/perstack-go/perstack/internal/privatefile"
	"github.com/perstack-go/perstack/internal/userfile"
)

// A directory that the user chose for a history can lie in a workspace, and a later run need not
// choose it again. Its path is recorded here, where no tool can remove it: one file for each
// directory, so that two processes do not overwrite what the other has recorded.

const (
	storagesName   = "storage"
	workspacesName = "workspaces"

	maxStorages = 200 // each is read at every start
	maxPath     = 64 << 10
)

// RecordStorage records a directory that holds a history, without symbolic links. Of too many, it
// forgets those that are gone, then those that have not been used for the longest time.
func (d Dir) RecordStorage(dir string) error {
	path, err := filepath.Abs(dir)
	if err == nil {
		path, err = Resolve(path)
	}
	if err == nil {
		sum := sha256.Sum256([]byte(path))
		err = privatefile.Replace(filepath.Join(string(d), storagesName, hex.EncodeToString(sum[:2*hashBytes])), []byte(path))
	}
	if err == nil {
		err = d.pruneStorages(maxStorages)
	}
	if err != nil {
		return fmt.Errorf("record the directory of the history: %w", err)
	}
	return nil
}

// WorkspaceLock returns the file that locks a workspace. A directory that is reached through a
// symbolic link is the same workspace.
func (d Dir) WorkspaceLock(dir string) (string, error) {
	path, err := filepath.Abs(dir)
	if err == nil {
		path, err = Resolve(path)
	}
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(string(d), workspacesName, hex.EncodeToString(sum[:2*hashBytes])), nil
}

// Storages returns the directories that [Dir.RecordStorage] recorded, if they exist.
func (d Dir) Storages() ([]string, error) {
	var all []string
	err := d.eachStorage(func(_, path string) {
		if _, err := os.Lstat(path); err == nil {
			all = append(all, path)
		}
	})
	slices.Sort(all)
	return all, err
}

// eachStorage hands over the file and the path of each recorded directory.
func (d Dir) eachStorage(each func(file, path string)) error {
	dir := filepath.Join(string(d), storagesName)
	names, err := userfile.Names(dir, maxProjects)
	if userfile.Absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if len(name) != 4*hashBytes {
			continue // a temporary file, which can hold a part of a path
		}
		file := filepath.Join(dir, name)
		path, err := userfile.Read(file, maxPath)
		switch {
		case userfile.Absent(err): // another process forgot it
		case err != nil:
			return err
		case filepath.IsAbs(string(path)):
			each(file, string(path))
		}
	}
	return nil
}

// pruneStorages forgets directories until at most so many are left.
func (d Dir) pruneStorages(most int) error {
	names, err := userfile.Names(filepath.Join(string(d), storagesName), maxProjects)
	if err != nil || len(names) <= most {
		return err
	}
	type storage struct {
		file string
		used int64
	}
	var all []storage
	err = d.eachStorage(func(file, path string) {
		s := storage{file: file}
		info, err := os.Stat(file)
		if _, gone := os.Lstat(path); err == nil && !errors.Is(gone, fs.ErrNotExist) {
			s.used = info.ModTime().UnixNano()
		}
		all = append(all, s)
	})
	slices.SortFunc(all, func(a, b storage) int { return cmp.Compare(a.used, b.used) })
	for i, s := range all {
		if s.used > 0 && i >= len(all)-most {
			break
		}
		if failed := os.Remove(s.file); !userfile.Absent(failed) { // another process can have forgotten it
			err = errors.Join(err, failed)
		}
	}
	return err
}
