//go:build !unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// openBelow opens a directory in another one, unless it is a link.
func openBelow(parent *os.File, name string) (*os.File, error) {
	path := filepath.Join(parent.Name(), name)
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return nil, err
	}
	return os.Open(path)
}

// gone reports whether a directory was removed.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// identityBelow is not known here.
func identityBelow(*os.File, string) (device, inode uint64) { return 0, 0 }
