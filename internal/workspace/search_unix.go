//go:build unix

package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// openBelow opens a directory in another one, without following a link; nil if the kernel
// generates its content.
func openBelow(parent *os.File, name string) (*os.File, error) {
	fd, err := unix.Openat(int(parent.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	d := os.NewFile(uintptr(fd), name)
	var here, above unix.Stat_t
	if err := errors.Join(unix.Fstat(fd, &here), unix.Fstat(int(parent.Fd()), &above)); err != nil {
		d.Close()
		return nil, err
	}
	if here.Dev != above.Dev && onKernelFS(d) {
		d.Close()
		return nil, nil
	}
	return d, nil
}

// gone reports whether a directory was removed, or replaced by a file or a link.
func gone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EMLINK)
}

// identityBelow returns the numbers that identify a name in an open directory; 0 if they are not
// known. The name need not be readable.
func identityBelow(parent *os.File, name string) (device, inode uint64) {
	var st unix.Stat_t
	if err := unix.Fstatat(int(parent.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return 0, 0
	}
	return uint64(st.Dev), st.Ino //nolint:unconvert // the types differ between systems
}
