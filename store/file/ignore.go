package file

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const ignoreName = ".gitignore"

// ignoreFile keeps conversations out of version control. The file stands at the top of
// the storage directory if nothing else is there, and beside the jobs otherwise: a
// storage path that points at a project must not hide the project, and a repository
// that brings a perstack directory along must not get conversations committed. A file
// that is there already is the user's decision. The directory of the jobs exists.
func (s *Store) ignoreFile(root *os.Root) error {
	for _, name := range []string{ignoreName, path.Join(jobsName, ignoreName)} {
		if _, err := root.Lstat(name); err == nil {
			return nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	place := "."
	if shared, err := isShared(root); err != nil {
		return err
	} else if shared {
		place = jobsName
	}
	// Another process may be doing the same, so each has a temporary file of its own.
	temp := path.Join(place, ignoreName+"."+rand.Text()+".tmp")
	err := s.disk.replaceBy(root, temp, path.Join(place, ignoreName), strings.NewReader("*\n"), true)
	return unwritable(filepath.Join(s.dir, place), err)
}

// isShared reports whether the storage directory holds anything that is not ours.
func isShared(root *os.Root) (bool, error) {
	dir, err := root.Open(".")
	if err != nil {
		return false, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	return slices.ContainsFunc(names, func(name string) bool {
		return name != jobsName && !strings.HasPrefix(name, ignoreName+".") // what a crash left of our file
	}), err
}
