package workspace

import (
	"io/fs"
	"syscall"
	"time"
)

// times returns when a file was made and when it was last read.
func times(info fs.FileInfo) (created, accessed time.Time) {
	if d, ok := info.Sys().(*syscall.Win32FileAttributeData); ok {
		created = time.Unix(0, d.CreationTime.Nanoseconds())
		accessed = time.Unix(0, d.LastAccessTime.Nanoseconds())
	}
	return created, accessed
}

// created has nothing to add.
func (p *place) created() (time.Time, bool) { return time.Time{}, false }
