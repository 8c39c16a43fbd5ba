package file

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// allocate reserves space on the disk for the bytes between from and to, without changing
// the length of the file.
func allocate(f *os.File, from, to int64) error {
	err := uninterrupted(func() error { return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, from, to-from) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
		return errors.ErrUnsupported
	}
	return os.NewSyscallError("fallocate", err)
}

// datasync makes the content and the length of the file durable, but not its times, which
// saves a second write to the disk.
func datasync(f *os.File) error {
	return os.NewSyscallError("fdatasync", uninterrupted(func() error { return unix.Fdatasync(int(f.Fd())) }))
}
