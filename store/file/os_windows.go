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
