//go:build unix && !linux && !darwin

package workspace

import (
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// renameExclusive is not known here.
func renameExclusive(int, string, int, string) error { return unix.ENOSYS }

// times are not known here.
func (p *location) times(fs.FileInfo) (created, accessed time.Time) { return time.Time{}, time.Time{} }
