package expert

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// errNotRegular is returned for directories, pipes and devices.
var errNotRegular = errors.New("not a regular file")

var errTooLarge = errors.New("larger than 1 MiB")

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

// readRegular reads a whole file of at most maxFile bytes.
func readRegular(path string) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, errTooLarge
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
