//go:build unix

package docker

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// ownerOf returns the user that the container runs as: the owner of the workspace, so that
// new files belong to the same user. On macOS it is the current user: daemons run in a
// virtual machine there, where files belong to that user.
func ownerOf(dir string, top fs.FileInfo) (uid, gid int, err error) {
	if runtime.GOOS == "darwin" {
		return unprivileged(dir, os.Getuid(), os.Getgid())
	}
	stat, ok := top.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, fmt.Errorf("the system does not say who the workspace %s belongs to", dir)
	}
	return unprivileged(dir, int(stat.Uid), int(stat.Gid))
}
