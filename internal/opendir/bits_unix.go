//go:build unix && !linux

package opendir

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// SetBits sets or clears permission bits of what has a name, if it is still the file or directory
// that has the stamp. A file with several names is refused: the others can be elsewhere.
func (d Dir) SetBits(name string, is Stamp, bits uint16, on bool) error {
	return d.change("chmod", name, func() error {
		var st unix.Stat_t
		if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
		if !isPlain(&st, is) {
			return fs.ErrInvalid
		}
		return unix.Fchmodat(d.fd, name, changeBits(&st, bits, on), unix.AT_SYMLINK_NOFOLLOW)
	})
}
