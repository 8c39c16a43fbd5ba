package skills

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// removeTree removes a directory, also if its owner took away the right to look into it,
// and however deep it is. Directories are taken up to the top before they are looked into:
// whoever goes down needs an open file for each level, and a program in a sandbox could have
// made more of these than this process may have, which others need too.
func removeTree(dir string) error {
	err := os.Chmod(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = flatten(dir)
	}
	if err == nil {
		err = os.Remove(dir)
	}
	if err != nil {
		return fmt.Errorf("remove the directory of a sandbox: %w", err)
	}
	return nil
}

// atOnce is how many names are read at a time: there may be millions.
const atOnce = 1000

// flatten empties a directory. A link is removed, and never followed.
func flatten(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	fresh, made := "up-"+rand.Text()+"-", 0
	for {
		entries, err := some(root, ".")
		if err != nil || len(entries) == 0 {
			return err
		}
		moved, failed := false, error(nil)
		for _, e := range entries {
			if !e.IsDir() {
				err = root.Remove(e.Name())
				moved, failed = moved || err == nil, errors.Join(failed, err)
				continue
			}
			err := root.Chmod(e.Name(), 0o700)
			below, readErr := some(root, e.Name())
			for _, b := range below {
				path := filepath.Join(e.Name(), b.Name())
				if !b.IsDir() {
					err = errors.Join(err, root.Remove(path))
					continue
				}
				// A directory that moves is written to: it notes where it is now.
				made++
				err = errors.Join(err, root.Chmod(path, 0o700), root.Rename(path, fresh+strconv.Itoa(made)))
			}
			if len(below) < atOnce && err == nil && readErr == nil {
				err = root.Remove(e.Name())
			}
			moved, failed = moved || err == nil && readErr == nil, errors.Join(failed, err, readErr)
		}
		if !moved {
			return failed
		}
	}
}

// some lists a part of a directory: whoever removes it finds the rest next time.
func some(root *os.Root, name string) ([]fs.DirEntry, error) {
	d, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(atOnce)
	if len(entries) > 0 || errors.Is(err, io.EOF) {
		return entries, nil
	}
	return nil, err
}
