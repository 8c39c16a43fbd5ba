//go:build unix

package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNew renames a name of one open directory to one of another that nothing has.
// The kernel looks whether it has something and renames in one step.
func renameNew(from *os.File, old string, to *os.File, name string, dir bool) error {
	err := renameExclusive(int(from.Fd()), old, int(to.Fd()), name)
	if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return renameSlowly(from, old, to, name, dir) // the file system does not know how
}

// renameSlowly does the same with two calls of which the first takes the name, and fails
// when something has it.
func renameSlowly(from *os.File, old string, to *os.File, name string, dir bool) error {
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
	// A directory may take the place of an empty one, and of nothing else.
	if err := unix.Mkdirat(target, name, 0o700); err != nil {
		return err
	}
	if err := unix.Renameat(source, old, target, name); err != nil {
		_ = unix.Unlinkat(target, name, unix.AT_REMOVEDIR)
		return err
	}
	return nil
}

func isOtherDevice(err error) bool { return errors.Is(err, unix.EXDEV) }

func isIntoItself(err error) bool { return errors.Is(err, unix.EINVAL) }
