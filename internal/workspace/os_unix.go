//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// noBlock opens a pipe without waiting for a writer, so that it can be refused.
const noBlock = syscall.O_NONBLOCK

// keepOwner gives f the owner and the group of the replaced file, as far as permitted: root
// may set any owner, other users a group of theirs. It reports whether the group was kept;
// if not, the new group must not get the rights of the old one.
func keepOwner(f *os.File, old fs.FileInfo) bool {
	st, ok := old.Sys().(*syscall.Stat_t)
	return !ok || f.Chown(int(st.Uid), int(st.Gid)) == nil || f.Chown(-1, int(st.Gid)) == nil
}

// linkCount returns how many names a file has.
func linkCount(_ *os.File, info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Nlink)
	}
	return 1
}

// renameNew renames a name of one open directory to a free name of another. The kernel
// checks that the name is free and renames in one step.
func renameNew(from *os.File, old string, to *os.File, name string, dir bool) error {
	err := renameExclusive(int(from.Fd()), old, int(to.Fd()), name)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return renameInTwoSteps(from, old, to, name, dir) // the file system does not support it
}

// renameInTwoSteps does the same with two calls. The first takes the name, and fails if it
// is not free.
func renameInTwoSteps(from *os.File, old string, to *os.File, name string, dir bool) error {
	source, target := int(from.Fd()), int(to.Fd())
	if !dir {
		if err := unix.Linkat(source, old, target, name, 0); err != nil { // a link itself, not its target
			return err
		}
		if err := unix.Unlinkat(source, old, 0); err != nil {
			_ = unix.Unlinkat(target, name, 0)
			return err
		}
		return nil
	}
	// A directory can replace an empty directory, and nothing else.
	if err := unix.Mkdirat(target, name, 0o700); err != nil {
		return err
	}
	if err := unix.Renameat(source, old, target, name); err != nil {
		_ = unix.Unlinkat(target, name, unix.AT_REMOVEDIR)
		return err
	}
	return nil
}

func isCrossDevice(err error) bool { return errors.Is(err, unix.EXDEV) }

func isIntoItself(err error) bool { return errors.Is(err, unix.EINVAL) }

// noFollow refuses to open a link at the end of a path.
const noFollow = syscall.O_NOFOLLOW

func isNotEmpty(err error) bool { return errors.Is(err, syscall.ENOTEMPTY) }
