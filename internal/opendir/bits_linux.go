package opendir

import (
	"io/fs"
	"strconv"

	"golang.org/x/sys/unix"
)

// SetBits sets or clears permission bits of what has a name, if it is still the file or directory
// that has the stamp. A file with several names is refused: the others can be elsewhere.
func (d Dir) SetBits(name string, is Stamp, bits uint16, on bool) error {
	// Before Linux 6.6, only this way follows no link and needs no right to open.
	return d.change("chmod", name, func() error {
		fd, err := openat(d.fd, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		if !isPlain(&st, is) {
			return fs.ErrInvalid
		}
		return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), changeBits(&st, bits, on))
	})
}
