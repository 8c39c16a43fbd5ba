//go:build unix && !darwin

package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// ownerOf returns who the container runs as: whoever the workspace belongs to. So what it
// writes there belongs to them, and nothing else on the machine does.
func ownerOf(dir string, top fs.FileInfo) (uid, gid int, err error) {
	stat, ok := top.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, fmt.Errorf("the system does not say who the workspace %s belongs to", dir)
	}
	return unprivileged(dir, int(stat.Uid), int(stat.Gid))
}

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
