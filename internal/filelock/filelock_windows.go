package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockedByte lies far beyond the end of every file. Windows locks are mandatory, and must not keep
// readers from the content.
func lockedByte() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }

// Try takes the lock of an open file, shared or exclusive, and reports whether it got it.
func Try(f *os.File, exclusive bool) (bool, error) {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, lockedByte())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, os.NewSyscallError("LockFileEx", err)
}

// Release releases the lock of an open file.
func Release(f *os.File) error {
	err := windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte())
	return os.NewSyscallError("UnlockFileEx", err)
}
