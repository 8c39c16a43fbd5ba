package file

import (
	"errors"
	"io/fs"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

const nonblock = 0

// privateMode: Windows has no permission bits; files inherit the access list of the
// user's directory.
func privateMode(mode, _ fs.FileMode, _ bool) (fs.FileMode, bool) { return mode, true }

func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}

// Windows has no limit for the size of a process's files.
const errTooLarge = windows.ERROR_DISK_QUOTA_EXCEEDED

func sizeLimit() int64 { return 0 }

// syncDir: Windows keeps directory entries in its own log, and cannot flush them by handle.
func (disk) syncDir(string) error { return nil }

// lockedByte lies far beyond the end of every journal. Windows locks are mandatory, and
// must not keep readers from the content.
func lockedByte() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }

// tryLock takes the lock of an open file, shared or exclusive, and reports whether it
// got it. The system releases it when the process dies.
func tryLock(f *os.File, exclusive bool) (bool, error) {
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

func unlock(f *os.File) error {
	err := windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte())
	return os.NewSyscallError("UnlockFileEx", err)
}

// allocate sets the allocated size of the file. Its length does not change.
func allocate(f *os.File, _, to int64) error {
	err := windows.SetFileInformationByHandle(windows.Handle(f.Fd()), windows.FileAllocationInfo, (*byte)(unsafe.Pointer(&to)), uint32(unsafe.Sizeof(to)))
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) || errors.Is(err, windows.ERROR_NOT_SUPPORTED) {
		return errors.ErrUnsupported
	}
	return os.NewSyscallError("SetFileInformationByHandle", err)
}

// datasync makes what was written durable.
func datasync(f *os.File) error { return f.Sync() }
