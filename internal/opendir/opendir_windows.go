package opendir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

const separators = `/\:` + "\x00"

// A Dir is an open directory. It must be closed once. An [os.Root] follows links inside it, so a
// name is looked at, opened, and compared with what was opened.
type Dir struct{ root *os.Root }

// Open opens a directory by a path that the user or perstack chose.
func Open(path string) (Dir, error) {
	root, err := os.OpenRoot(path)
	return Dir{root}, err
}

// Sub opens a directory in the directory.
func (d Dir) Sub(name string) (Dir, error) {
	seen, err := d.look(name, fs.ModeDir)
	if err != nil {
		return Dir{}, err
	}
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return Dir{}, err
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(seen, opened) {
		root.Close()
		return Dir{}, changed(name)
	}
	return Dir{root}, nil
}

// Close closes the directory.
func (d Dir) Close() error { return d.root.Close() }

// Names returns the names in the directory, in no order.
func (d Dir) Names() ([]string, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// Stat describes what has a name.
func (d Dir) Stat(name string) (Info, error) {
	if err := checkName(name); err != nil {
		return Info{}, err
	}
	is, err := d.root.Lstat(name)
	if err != nil {
		return Info{}, err
	}
	return info(is), nil
}

// Self describes the directory.
func (d Dir) Self() (Info, error) {
	is, err := d.root.Stat(".")
	if err != nil {
		return Info{}, err
	}
	return info(is), nil
}

// StatFile describes an open file.
func StatFile(f *os.File) (Info, error) {
	is, err := f.Stat()
	if err != nil {
		return Info{}, err
	}
	return info(is), nil
}

func info(is fs.FileInfo) Info {
	i := Info{Mode: uint16(is.Mode().Perm()), Size: is.Size(), Names: 1, Stamp: Stamp{Modified: is.ModTime().UnixNano()}}
	switch {
	case is.Mode().IsRegular():
		i.Kind = File
	case is.IsDir():
		i.Kind = Directory
	case is.Mode()&fs.ModeSymlink != 0:
		i.Kind = Link
	default:
		i.Kind = Other
	}
	return i
}

// Read opens a regular file for reading.
func (d Dir) Read(name string) (*os.File, error) {
	seen, err := d.look(name, 0)
	if err != nil {
		return nil, err
	}
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(seen, opened) {
		f.Close()
		return nil, changed(name)
	}
	return f, nil
}

// Update opens a regular file for reading and writing, and makes it if needed.
func (d Dir) Update(name string, mode uint16) (*os.File, error) {
	if _, err := d.look(name, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return d.root.OpenFile(name, os.O_RDWR|os.O_CREATE, fs.FileMode(mode))
}

// Target returns the text of a link.
func (d Dir) Target(name string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	return d.root.Readlink(name)
}

// look describes what has a name, which must have this type.
func (d Dir) look(name string, kind fs.FileMode) (fs.FileInfo, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	seen, err := d.root.Lstat(name)
	if err == nil && seen.Mode().Type() != kind {
		err = changed(name)
	}
	return seen, err
}

// changed is the error for a name that was taken by something else.
func changed(name string) error {
	return &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
}

// Create makes a file, which must not exist, and opens it for writing.
func (d Dir) Create(name string, mode uint16) (*os.File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	return d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(mode))
}

// Mkdir makes a directory.
func (d Dir) Mkdir(name string, mode uint16) error {
	if err := checkName(name); err != nil {
		return err
	}
	return d.root.Mkdir(name, fs.FileMode(mode))
}

// Symlink makes a link.
func (d Dir) Symlink(target, name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return d.root.Symlink(target, name)
}

// Remove removes what is not a directory.
func (d Dir) Remove(name string) error {
	is, err := d.Stat(name)
	if err == nil && is.Kind == Directory {
		err = changed(name)
	}
	if err != nil {
		return err
	}
	return d.root.Remove(name)
}

// RemoveDir removes an empty directory.
func (d Dir) RemoveDir(name string) error {
	if _, err := d.look(name, fs.ModeDir); err != nil {
		return err
	}
	return d.root.Remove(name)
}

// MoveTo gives a file or a link a name in another directory, and replaces a file or a link that has
// it. The system moves by path here, so a directory on the way that is swapped meanwhile leads elsewhere.
func (d Dir) MoveTo(to Dir, name, as string) error {
	for _, n := range []string{name, as} {
		if err := checkName(n); err != nil {
			return err
		}
	}
	return os.Rename(filepath.Join(d.root.Name(), name), filepath.Join(to.root.Name(), as))
}

// Chmod sets the permission bits of the directory.
func (d Dir) Chmod(mode uint16) error { return d.root.Chmod(".", fs.FileMode(mode)) }

// SetBits does nothing: there are no such bits that keep the owner out.
func (d Dir) SetBits(string, Stamp, uint16, bool) error { return nil }

// Sync does nothing: Windows keeps directory entries in its own log.
func (d Dir) Sync() error { return nil }
