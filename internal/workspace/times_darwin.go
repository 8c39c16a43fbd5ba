package workspace

import (
	"io/fs"
	"syscall"
	"time"
)

// times returns when a file was made and when it was last read.
func times(info fs.FileInfo) (created, accessed time.Time) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		created = time.Unix(st.Birthtimespec.Unix())
		accessed = time.Unix(st.Atimespec.Unix())
	}
	return created, accessed
}

// created has nothing to add.
func (p *place) created() (time.Time, bool) { return time.Time{}, false }
