//go:build !unix

package policy

import (
	"errors"
	"io/fs"
	"os"
)

// openDir opens a directory by its path.
func openDir(path string) (*os.File, error) { return os.Open(path) }

// openBelow opens a directory in another one, unless it is a link.
func openBelow(_ *os.File, path string) (*os.File, error) {
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return nil, err
	}
	return os.Open(path)
}

// gone reports whether a directory was removed.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// own is true: what is not known is taken for the user's.
func own(*os.File, string) bool { return true }
