package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// nameless opens a new file in the folder that has no name yet. Nobody meets it while it
// is written, and the kernel removes it if we are killed. Not every file system can do
// that, and the caller has another way; so it does not matter why it failed.
func (d folder) nameless(mode fs.FileMode) (*os.File, error) {
	fd, err := openat(d.fd, ".", unix.O_TMPFILE|unix.O_WRONLY, uint32(mode.Perm()))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "new file"), nil
}

// give gives a nameless file a name that nothing has: [fs.ErrExist] says that something
// has it.
func (d folder) give(f *os.File, name string) error {
	if err := single(name); err != nil {
		return err
	}
	err := unix.Linkat(int(f.Fd()), "", d.fd, name, unix.AT_EMPTY_PATH)
	if err == nil || errors.Is(err, unix.EEXIST) {
		return err
	}
	// Older kernels want a privilege for that, but not for this.
	return unix.Linkat(unix.AT_FDCWD, opened(f), d.fd, name, unix.AT_SYMLINK_FOLLOW)
}

// setTimes sets the times of an open file.
func setTimes(f *os.File, accessed, modified time.Time) error {
	return os.Chtimes(opened(f), accessed, modified)
}

// opened is the path by which this process finds a file that it has open.
func opened(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }
