package file

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// allocate reserves space on the disk for the bytes between from and to, without changing
// the length of the file. The system counts from the end of the allocated space.
func allocate(f *os.File, from, to int64) error {
	request := unix.Fstore_t{Flags: unix.F_ALLOCATEALL, Posmode: unix.F_PEOFPOSMODE, Length: to - from}
	err := unix.FcntlFstore(f.Fd(), unix.F_PREALLOCATE, &request)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) {
		return errors.ErrUnsupported
	}
	return os.NewSyscallError("fcntl", err)
}

// datasync makes what was written durable. Sync asks the drive to empty its cache,
// which fsync alone does not on macOS.
func datasync(f *os.File) error { return f.Sync() }
