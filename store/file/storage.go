package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// openRoot opens the storage directory. What stands there may have come with a
// repository that someone cloned: a pipe must not make us wait, and a link must not
// choose where conversations go.
func (s *Store) openRoot() (*os.Root, error) {
	info, err := os.Lstat(s.dir)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if !s.allowLink {
			target, _ := os.Readlink(s.dir)
			return nil, fmt.Errorf("storage directory %s is a symbolic link to %s; name the target with --storage", s.dir, printable(target))
		}
		info, err = os.Stat(s.dir)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("storage %s is not a directory; choose another with --storage", s.dir)
	}
	// With the slash, a pipe that has come in between is an error and not a wait.
	root, err := os.OpenRoot(s.dir + string(filepath.Separator))
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(info, opened) {
		err = fmt.Errorf("storage %s was replaced while it was opened; try again", s.dir)
	}
	if err != nil {
		root.Close()
		return nil, err
	}
	return root, nil
}

// makeStorage creates the storage directory, and returns the directories above it that
// got a new entry; the one that holds the storage always counts, since a process that
// created it may have died before it was durable. The mode of a directory that the
// user made is the user's affair: what we put inside is private by itself.
func (d disk) makeStorage(dir string) ([]string, error) {
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
	if err := d.makeAll(dir); err != nil {
		return nil, unwritable(top, err)
	}
	return parents, d.makePrivate(dir)
}

// unwritable names the directory in an error about missing permission: the system
// speaks of the entry that could not be made in it.
func unwritable(dir string, err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("%s cannot be written to: %w; allow it, or choose another storage with --storage", dir, err)
}

// printable keeps what a stranger wrote from acting on the terminal.
func printable(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
