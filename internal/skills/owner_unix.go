//go:build unix

package skills

import (
	"io/fs"
	"syscall"
)

// isOwner reports whether a file belongs to a user.
func isOwner(info fs.FileInfo, uid int) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == uid
}
