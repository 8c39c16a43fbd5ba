//go:build unix

package userfile

import (
	"os"
	"syscall"
)

// Foreign reports whether a file belongs neither to this user nor to root. In a
// directory that others can write to, such a file may lie in wait.
func Foreign(f *os.File) bool {
	info, err := f.Stat()
	return err != nil || foreign(info)
}

// ForeignPath is [Foreign] for a path; false if that does not exist.
func ForeignPath(path string) bool {
	info, err := os.Stat(path)
	return err == nil && foreign(info)
}

func foreign(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid != 0 && int(stat.Uid) != os.Geteuid()
}

// shared reports whether others than the owner can write.
func shared(info os.FileInfo) bool { return info.Mode().Perm()&0o022 != 0 }

func rootOwns(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid == 0
}
