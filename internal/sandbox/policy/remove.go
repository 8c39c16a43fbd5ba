package policy

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

// RemoveTree removes a directory of any depth, if it exists, even if its owner has no right to
// read it. Directories are moved up to the top before they are read: walking down needs an open
// file for each level, and a program in a sandbox can make more levels than a process can open
// files.
func RemoveTree(dir string) error {
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

// batch is how many names are read at a time: a directory can have millions.
const batch = 1000

// flatten empties a directory. Links are removed and never followed.
func flatten(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	fresh, made := "up-"+rand.Text()+"-", 0
	for {
		entries, err := readBatch(root, ".")
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
			below, readErr := readBatch(root, e.Name())
			for _, b := range below {
				path := filepath.Join(e.Name(), b.Name())
				if !b.IsDir() {
					err = errors.Join(err, root.Remove(path))
					continue
				}
				// Moving a directory writes its "..", which needs the right to write.
				made++
				err = errors.Join(err, root.Chmod(path, 0o700), root.Rename(path, fresh+strconv.Itoa(made)))
			}
			if len(below) < batch && err == nil && readErr == nil {
				err = root.Remove(e.Name())
			}
			moved, failed = moved || err == nil && readErr == nil, errors.Join(failed, err, readErr)
		}
		if !moved {
			return failed
		}
	}
}

// readBatch lists a part of a directory; the caller removes it and reads the next.
func readBatch(root *os.Root, name string) ([]fs.DirEntry, error) {
	d, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(batch)
	if len(entries) > 0 || errors.Is(err, io.EOF) {
		return entries, nil
	}
	return nil, err
}
