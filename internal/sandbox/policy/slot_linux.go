package policy

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile makes a file if it does not exist and takes its lock, without waiting. The lock belongs
// to the open file: two opens in one process exclude each other.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, unix.EWOULDBLOCK):
		err = errLocked
	default:
		err = os.NewSyscallError("flock", err)
	}
	f.Close()
	return nil, err
}
