package policy

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/filelock"
)

// lockFile makes a file if it does not exist and takes its lock, without waiting.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	locked, err := filelock.Try(f, true)
	if locked {
		return f, nil
	}
	f.Close()
	if err == nil {
		err = errLocked
	}
	return nil, err
}
