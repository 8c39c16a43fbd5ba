//go:build unix && !linux && !darwin

package file

import (
	"errors"
	"os"
)

// allocate: there is no call for it that all systems share. A full disk then shows
// when it is written to.
func allocate(*os.File, int64, int64) error { return errors.ErrUnsupported }

// datasync makes what was written durable.
func datasync(f *os.File) error { return f.Sync() }
