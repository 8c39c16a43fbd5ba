// Package userfile reads files that users, package managers and the programs of a job can
// write: regular ones, of a bounded size, within a bounded time.
//
// It never waits for a pipe, a device or a file system that does not answer, and never writes.
// Start reading at [Read].
package userfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ErrNotRegular is returned for directories, pipes and devices.
var ErrNotRegular = errors.New("not a regular file")

// ErrNoAnswer is returned if the file system does not answer, such as that of a server that is
// gone.
var ErrNoAnswer = fmt.Errorf("the file system does not answer within %d seconds", patience/time.Second)

// patience is how long a file may take. A file of the largest size that is read takes less
// than a second, even from a slow network.
const patience = 10 * time.Second

// OpenRegular opens a file for reading. The type is asked of the open handle,
// so it cannot change between the question and the reading; O_NONBLOCK keeps
// the opening of a pipe that has no writer from waiting for ever.
func OpenRegular(path string) (*os.File, error) {
	return openWithin(patience, func() (*os.File, error) { return openRegular(path) })
}

// openWithin closes what is opened too late.
func openWithin(patience time.Duration, open func() (*os.File, error)) (*os.File, error) {
	return within(patience, open, func(f *os.File) { f.Close() })
}

func openRegular(path string) (*os.File, error) {
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
// limit bytes. A pipe, a device or a directory is refused at once. The error is the bare cause;
// the caller says which file it is and what it is for.
func Read(path string, limit int64) ([]byte, error) {
	return within(patience, func() ([]byte, error) { return ReadNow(path, limit) }, func([]byte) {})
}

// ReadNow is Read without a limit on the time, for a caller that has one, or that knows that the
// file system answers.
func ReadNow(path string, limit int64) ([]byte, error) {
	return read(path, limit, func(*os.File) error { return nil })
}

// ReadOwn is [Read] for a file whose content is taken as the word of the user. It is refused if
// another user owns it, or can write to it or to its directory.
func ReadOwn(path string, limit int64) ([]byte, error) {
	own := func(f *os.File) error {
		info, err := f.Stat()
		switch {
		case err != nil:
			return err
		case foreign(info):
			return ErrForeign
		case shared(info):
			return ErrShared
		}
		return OwnDir(filepath.Dir(path))
	}
	return within(patience, func() ([]byte, error) { return read(path, limit, own) }, func([]byte) {})
}

// ReadRoot is [ReadOwn] for a file of root.
func ReadRoot(path string, limit int64) ([]byte, error) {
	ofRoot := func(f *os.File) error {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		dir, err := os.Stat(filepath.Dir(path))
		switch {
		case err != nil:
			return err
		case !rootOwns(info):
			return ErrNotRoot
		case shared(info):
			return ErrShared
		case !rootOwns(dir):
			return ErrNotRootDir
		case shared(dir):
			return ErrSharedDir
		}
		return nil
	}
	return within(patience, func() ([]byte, error) { return read(path, limit, ofRoot) }, func([]byte) {})
}

// OwnDir returns an error if another user owns a directory or can write to it, and so can replace
// its files.
func OwnDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case foreign(info):
		return ErrForeignDir
	case shared(info):
		return ErrSharedDir
	}
	return nil
}

// Errors of ReadOwn and ReadRoot.
var (
	ErrForeign    = errors.New("belongs to another user")
	ErrShared     = errors.New("others can write to it")
	ErrForeignDir = errors.New("its directory belongs to another user")
	ErrSharedDir  = errors.New("others can write to its directory")
	ErrNotRoot    = errors.New("does not belong to root")
	ErrNotRootDir = errors.New("its directory does not belong to root")
)

func read(path string, limit int64, check func(*os.File) error) ([]byte, error) {
	f, err := openRegular(path)
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
	return within(patience, func() ([]byte, error) { return readIn(root, name, limit) }, func([]byte) {})
}

func readIn(root *os.Root, name string, limit int64) ([]byte, error) {
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

// Names returns the names in a directory, and an error if there are more than so many. It is as
// patient as Read.
func Names(dir string, most int) ([]string, error) {
	return within(patience, func() ([]string, error) {
		f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		names, err := f.Readdirnames(most + 1)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		if len(names) > most {
			return nil, fmt.Errorf("%s has more than %d entries", dir, most)
		}
		return names, err
	}, func([]string) {})
}

// Within calls a function that asks the file system, and returns what it returns, or
// [ErrNoAnswer]. The function must not have effects: it may still run afterwards.
func Within[T any](do func() T) (T, error) {
	return within(patience, func() (T, error) { return do(), nil }, func(T) {})
}

// within calls do and returns what it returns. If that takes too long, the call is left to
// itself, since the system has no way to end it, and what it returns later is dropped.
func within[T any](patience time.Duration, do func() (T, error), drop func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done, gone := make(chan result), make(chan struct{})
	go func() {
		value, err := do()
		select {
		case done <- result{value, err}:
		case <-gone:
			if err == nil {
				drop(value)
			}
		}
	}()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case r := <-done:
		return r.value, r.err
	case <-late.C:
		close(gone)
		var none T
		return none, ErrNoAnswer
	}
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
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}

// Digest is the SHA-256 of what was read of a file, in hexadecimal.
func Digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Below returns the rest of a path that lies in a directory; "." for the directory itself. It
// compares the paths as they are written: a caller to whom links matter resolves them first.
func Below(dir, path string) (rest string, ok bool) {
	// The usual case: filepath.Rel takes ten times as long, and every start compares some hundred
	// paths. Where names are not told apart by case, that is left to it.
	if filepath.Separator == '/' && filepath.IsAbs(dir) && filepath.IsAbs(path) {
		dir, path = filepath.Clean(dir), filepath.Clean(path)
		if path == dir {
			return ".", true
		}
		return strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/")
	}
	rest, err := filepath.Rel(dir, path)
	if err != nil || rest == ".." || strings.HasPrefix(rest, ".."+string(filepath.Separator)) {
		return "", false
	}
	return rest, true
}
