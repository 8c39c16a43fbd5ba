//go:build unix

package workspace

import (
	"io/fs"
	"os"
	"syscall"
)

// noBlock lets a pipe be opened without a writer, so that it can be refused.
const noBlock = syscall.O_NONBLOCK

// keepOwner gives f the owner that the replaced file had. It matters when root works
// in a user's directory; for others it does nothing.
func keepOwner(f *os.File, old fs.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}

// linkCount returns how many names a file has.
func linkCount(_ *os.File, info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Nlink)
	}
	return 1
}
