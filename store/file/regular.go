package file

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// openRegular opens a file for reading. It does not wait on a pipe that someone put
// in its place, and refuses everything that is no regular file.
func openRegular(dir *os.Root, name string) (*os.File, error) {
	return disk{}.openFile(dir, name, os.O_RDONLY) // which changes nothing
}

func (d disk) openFile(dir *os.Root, name string, flag int) (*os.File, error) {
	refuse := func(mode fs.FileMode) error {
		return fmt.Errorf("%s is not a regular file (%s); move it away", filepath.Join(dir.Name(), name), kind(mode))
	}
	info, err := dir.Lstat(name)
	made := err != nil
	if !made && !info.Mode().IsRegular() {
		return nil, refuse(info.Mode())
	}
	var f *os.File
	if made && flag&os.O_CREATE != 0 {
		f, err = d.create(dir, name, name, flag|nonblock)
	} else {
		f, err = dir.OpenFile(name, flag|nonblock, fileMode)
	}
	switch {
	case err != nil && made && flag&os.O_CREATE != 0:
		return nil, unwritable(dir.Name(), err)
	case err != nil && flag&os.O_RDWR != 0:
		return nil, unwritable(filepath.Join(dir.Name(), name), err)
	case err != nil:
		return nil, err
	}
	info, err = f.Stat() // it may have been replaced since
	if err == nil && !info.Mode().IsRegular() {
		err = refuse(info.Mode())
	}
	if err == nil && flag&os.O_CREATE != 0 {
		err = d.keepPrivate(f, made)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// keepPrivate gives a file that we made the mode 0600, whatever the umask was. From
// another it takes what other users may do with it, whoever copied it here.
func (d disk) keepPrivate(f *os.File, made bool) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	mode, ok := privateMode(info.Mode(), fileMode, made)
	if ok {
		return nil
	}
	if err := d.chmodFile(f, mode); err != nil {
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
