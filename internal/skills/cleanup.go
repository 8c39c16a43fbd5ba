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
	"strings"

	"github.com/perstack-go/perstack/internal/owner"
)

const (
	// sandboxesPrefix begins the name of a directory that contains those of sandboxes.
	sandboxesPrefix = "perstack-sandboxes-"
	// ownerFile in such a directory names the perstack that made it. No sandbox can read it.
	ownerFile = "owner"
)

func writeOwner(dir string) error {
	return os.WriteFile(filepath.Join(dir, ownerFile), []byte(owner.This().String()), 0o600)
}

// removeAbandoned removes the directories of killed processes. It leaves what it cannot remove,
// and what belongs to a process that can be alive.
//
// Every user can write to the directory for temporary files. So no link is followed and no mode
// is changed: a directory that was made to look like ours is removed, and nothing else.
func removeAbandoned(temp string) {
	entries, _ := os.ReadDir(temp)
	for _, e := range entries {
		dir := filepath.Join(temp, e.Name())
		if e.IsDir() && strings.HasPrefix(e.Name(), sandboxesPrefix) && isAbandoned(dir) {
			_ = os.RemoveAll(dir)
		}
	}
}

func isAbandoned(dir string) bool {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	info, err := root.Lstat(ownerFile)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := root.Open(ownerFile)
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<10))
	if err != nil {
		return false
	}
	id, err := owner.Parse(string(text))
	return err == nil && id.Dead()
}

// removeTree removes a directory of any depth, if it exists, even if its owner has no right to
// read it. Directories are moved up to the top before they are read: walking down needs an open
// file for each level, and a program in a sandbox can make more levels than a process can open
// files.
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
