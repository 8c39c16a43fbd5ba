//go:build unix

package file

import (
	"errors"
	"io/fs"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// nonblock opens a pipe without waiting for its other end.
const nonblock = unix.O_NONBLOCK

// privateMode returns the permissions that a file must have, and whether it has them. A
// file that we made gets want; an existing one loses the rights of other users.
func privateMode(mode, want fs.FileMode, made bool) (fs.FileMode, bool) {
	if !made {
		want = mode.Perm() &^ 0o077
	}
	return want, mode.Perm() == want
}

// isFull reports whether err means that there is no space: on the disk, in the quota, or
// under the limit of the process for the size of a file.
func isFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

// errTooLarge is the error of the system for a file beyond [sizeLimit].
const errTooLarge = unix.EFBIG

// sizeLimit returns how long a file of this process may grow (ulimit -f), or 0.
func sizeLimit() int64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil || uint64(limit.Cur) > math.MaxInt64 {
		return 0
	}
	return int64(limit.Cur)
}

// syncDir makes the entries of a directory durable, where the file system can.
func (d disk) syncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := d.sync(dir); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}

// uninterrupted repeats a system call that a signal interrupts.
func uninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
