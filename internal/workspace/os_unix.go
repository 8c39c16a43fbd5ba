//go:build unix

package workspace

import (
	"io/fs"
	"os"
	"syscall"
)

// noBlock lets a pipe be opened without a writer, so that it can be refused.
const noBlock = syscall.O_NONBLOCK

// keepOwner gives f the owner and the group that the replaced file had, as far as we may:
// root may give any owner, others a group that they are in. It reports whether the group
// is the old one; if not, what the group might do is not for the new one.
func keepOwner(f *os.File, old fs.FileInfo) bool {
	st, ok := old.Sys().(*syscall.Stat_t)
	return !ok || f.Chown(int(st.Uid), int(st.Gid)) == nil || f.Chown(-1, int(st.Gid)) == nil
}

// linkCount returns how many names a file has.
func linkCount(_ *os.File, info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Nlink)
	}
	return 1
}
