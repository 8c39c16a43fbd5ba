// Package privatefile writes files that only the user can read: whole, or not at all. A reader
// sees the old content or the new one, never a part.
//
// It is for files of perstack itself, in the user's state directory. Start reading at [Replace].
package privatefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace writes a file, and makes its directory if needed.
func Replace(path string, content []byte) error {
	return write(path, content, false, os.Rename)
}

// Create is [Replace] for a file that must not exist. The error is [fs.ErrExist] if it does.
func Create(path string, content []byte) error { return write(path, content, false, os.Link) }

// CreateDurable is [Create] for content that must survive a power cut.
func CreateDurable(path string, content []byte) error { return write(path, content, true, os.Link) }

// ReplaceDurable is [Replace] for content that must survive a power cut.
func ReplaceDurable(path string, content []byte) error { return write(path, content, true, os.Rename) }

// write writes a temporary file beside the path, and gives it its name.
func write(path string, content []byte, durable bool, give func(temporary, path string) error) error {
	f, err := temporary(path)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = give(f.Name(), path)
	}
	_ = os.Remove(f.Name()) // a renamed file has gone, and a leftover does no harm
	return err
}

// attempts bounds how often another process can remove the empty directory in between.
const attempts = 10

func temporary(path string) (f *os.File, err error) {
	dir := filepath.Dir(path)
	for range attempts {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		f, err = os.CreateTemp(dir, filepath.Base(path)+".*.tmp") // private: mode 0600
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return f, err
}
