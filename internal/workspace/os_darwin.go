package workspace

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func renameExclusive(from int, old string, to int, name string) error {
	return unix.RenameatxNp(from, old, to, name, unix.RENAME_EXCL)
}

// times returns when a file was made and when it was last read.
func (p *location) times(info fs.FileInfo) (created, accessed time.Time) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		created = time.Unix(st.Birthtimespec.Unix())
		accessed = time.Unix(st.Atimespec.Unix())
	}
	return created, accessed
}
