//go:build !linux

package workspace

import (
	"io/fs"
	"os"
)

// keepAccess returns the mode that a file is to have which takes the place of another.
// The lists that these systems have do not change what the mode says.
func keepAccess(_ *os.File, _ folder, _ string, old fs.FileInfo) fs.FileMode {
	return old.Mode().Perm()
}
