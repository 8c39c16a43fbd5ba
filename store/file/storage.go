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

// openRoot opens the storage directory. It may have come with a cloned repository: a pipe
// must not block, and a link must not decide where conversations go.
func (s *Store) openRoot() (*os.Root, error) {
	info, err := os.Lstat(s.dir)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if !s.allowLink {
			target, _ := os.Readlink(s.dir)
			return nil, fmt.Errorf("storage directory %s is a symbolic link to %s; use its target as the storage directory", s.dir, printable(target))
		}
		info, err = os.Stat(s.dir)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("storage %s is not a directory; choose another storage directory", s.dir)
	}
	// With the slash, a pipe that took the name meanwhile is an error and does not block.
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

// makeStorage creates the storage directory, and returns the parents that got a new entry.
// The direct parent is always among them, since a process that created the storage may
// have died before it was durable. The mode of an existing directory is not changed: what
// we put inside is private by itself.
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
	if err := d.do(OpMkdir, dir, func() error { return os.MkdirAll(dir, dirMode) }); err != nil {
		return nil, unwritable(top, err)
	}
	return parents, d.do(OpChmod, dir, func() error { return os.Chmod(dir, dirMode) })
}

// unwritable names the directory in an error about missing permission: the error of the
// system names the entry that could not be made in it.
func unwritable(dir string, err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("%s cannot be written to: %w; allow it, or choose another storage directory", dir, err)
}

// printable quotes a name that could act on the terminal.
func printable(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
