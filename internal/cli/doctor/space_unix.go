//go:build linux || darwin

package doctor

import "syscall"

// freeSpace returns the bytes that a user can still write to the file system of a directory.
func freeSpace(dir string) (int64, bool) {
	var about syscall.Statfs_t
	if err := syscall.Statfs(dir, &about); err != nil {
		return 0, false
	}
	return int64(about.Bavail) * int64(about.Bsize), true
}
