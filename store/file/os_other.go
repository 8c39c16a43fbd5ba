//go:build unix && !linux && !darwin

package file

import (
	"errors"
	"os"
)

// allocate is not supported: these systems have no common call for it. A full disk is then
// noticed by a write.
func allocate(*os.File, int64, int64) error { return errors.ErrUnsupported }

// datasync makes what was written durable.
func datasync(f *os.File) error { return f.Sync() }
