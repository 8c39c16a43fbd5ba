package expert

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// errNotRegular is returned for directories, pipes and devices.
var errNotRegular = errors.New("not a regular file")

// openRegular opens a file for reading. The type is asked of the open handle,
// so it cannot change between the question and the reading; O_NONBLOCK keeps
// the opening of a pipe that has no writer from waiting for ever.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadFile reads a whole file that the user named: a regular one of at most
// limit bytes. A pipe, a device or a directory is refused at once, and nothing
// is waited for. The error is the bare cause; the caller says which file it is
// and what it is for.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, reason(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, reason(err)
	}
	if int64(len(data)) > limit {
		if limit < 1<<20 {
			return nil, fmt.Errorf("larger than %d KiB", limit>>10)
		}
		return nil, fmt.Errorf("larger than %d MiB", limit>>20)
	}
	return data, nil
}

// reason is the bare cause of a file error, without the path.
func reason(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
