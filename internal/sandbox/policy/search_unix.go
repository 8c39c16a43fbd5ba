//go:build unix

package policy

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC

// openDir opens a directory by its path.
func openDir(path string) (*os.File, error) { return os.OpenFile(path, dirFlags, 0) }

// openBelow opens a directory in another one, without following a link; nil if the kernel
// generates its content. It has its whole path as name: on file systems that do not tell the
// types of names, reading the directory needs it.
func openBelow(parent *os.File, path string) (*os.File, error) {
	fd, err := unix.Openat(int(parent.Fd()), filepath.Base(path), dirFlags, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	d := os.NewFile(uintptr(fd), path)
	var here, above unix.Stat_t
	if err := errors.Join(unix.Fstat(fd, &here), unix.Fstat(int(parent.Fd()), &above)); err != nil {
		d.Close()
		return nil, err
	}
	if here.Dev != above.Dev && ofKernel(fd) {
		d.Close()
		return nil, nil
	}
	return d, nil
}

// gone reports whether a directory was removed, or replaced by a file or a link.
func gone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EMLINK)
}

// own reports whether this user can change the mode of a directory, or of the one around it, which
// has to be searched first.
func own(parent *os.File, path string) bool {
	var st unix.Stat_t
	if err := unix.Fstatat(int(parent.Fd()), filepath.Base(path), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		if err := unix.Fstat(int(parent.Fd()), &st); err != nil {
			return true // the error that follows says more than a file that is not hidden
		}
	}
	return int(st.Uid) == os.Geteuid()
}
