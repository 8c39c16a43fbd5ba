// Package userfile reads files that users and package managers wrote: regular ones of a
// bounded size.
//
// It never waits for a pipe or a device, and never writes. Start reading at [Read].
package userfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrNotRegular is returned for directories, pipes and devices.
var ErrNotRegular = errors.New("not a regular file")

// OpenRegular opens a file for reading. The type is asked of the open handle,
// so it cannot change between the question and the reading; O_NONBLOCK keeps
// the opening of a pipe that has no writer from waiting for ever.
func OpenRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Read reads a whole file that the user named: a regular one of at most
// limit bytes. A pipe, a device or a directory is refused at once, and nothing
// is waited for. The error is the bare cause; the caller says which file it is
// and what it is for.
func Read(path string, limit int64) ([]byte, error) {
	return read(path, limit, func(*os.File) error { return nil })
}

// ReadOwn is [Read] for a file whose content is taken as the word of the user. It is refused if
// another user owns it, or can write to it or to its directory.
func ReadOwn(path string, limit int64) ([]byte, error) {
	return read(path, limit, func(f *os.File) error {
		if Foreign(f) {
			return ErrForeign
		}
		info, err := f.Stat()
		if err == nil && shared(info) {
			return ErrShared
		}
		dir, err := os.Stat(filepath.Dir(path))
		if err == nil && shared(dir) {
			return ErrSharedDir
		}
		return err
	})
}

// Errors of ReadOwn.
var (
	ErrForeign   = errors.New("belongs to another user")
	ErrShared    = errors.New("others can write to it")
	ErrSharedDir = errors.New("others can write to its directory")
)

func read(path string, limit int64, check func(*os.File) error) ([]byte, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, Reason(err)
	}
	if err := check(f); err != nil {
		f.Close()
		return nil, Reason(err)
	}
	return readAll(f, limit)
}

// ReadIn is [Read] beneath a directory: no link leads out of it, and a file that is itself a
// symbolic link is refused.
func ReadIn(root *os.Root, name string, limit int64) ([]byte, error) {
	info, err := root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		return nil, Reason(err)
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, Reason(err)
	}
	if opened, err := f.Stat(); err != nil || !opened.Mode().IsRegular() {
		f.Close()
		return nil, ErrNotRegular
	}
	return readAll(f, limit)
}

// readAll reads a file of at most limit bytes, and closes it.
func readAll(f *os.File, limit int64) ([]byte, error) {
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, Reason(err)
	}
	if int64(len(data)) > limit {
		if limit < 1<<20 {
			return nil, fmt.Errorf("larger than %d KiB", limit>>10)
		}
		return nil, fmt.Errorf("larger than %d MiB", limit>>20)
	}
	return data, nil
}

// Reason is the bare cause of a file error, without the path.
func Reason(err error) error {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err
	}
	return err
}

// Absent tells "there is no such file" from "it cannot be read".
func Absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
