package docker

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// ownerOf returns who the container runs as: the user. Daemons on macOS run in a virtual
// machine, where files belong to whoever asks.
func ownerOf(dir string, _ fs.FileInfo) (uid, gid int, err error) {
	return unprivileged(dir, os.Getuid(), os.Getgid())
}

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
