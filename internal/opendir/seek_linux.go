package opendir

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// NextData returns the first position from offset on that is not in a hole of a sparse file, and
// [io.EOF] if only a hole follows.
func NextData(f *os.File, offset int64) (int64, error) {
	at, err := unix.Seek(int(f.Fd()), offset, unix.SEEK_DATA)
	switch err {
	case nil:
		return at, nil
	case unix.ENXIO:
		return 0, io.EOF
	}
	return offset, nil // the file system does not say
}
