package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// Exposed returns which of the state directory and its file of keys other users have rights to.
// A program in a sandbox of Landlock cannot open them, but it can change their modes.
func (d Dir) Exposed() (paths []string, err error) {
	if runtime.GOOS == "windows" {
		return nil, nil
	}
	for _, path := range []string{string(d), d.KeyFile()} {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		case info.Mode().Perm()&0o077 != 0:
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// Hide takes away the rights that other users have to the state directory and its file of keys.
func (d Dir) Hide() error {
	exposed, err := d.Exposed()
	for _, path := range exposed {
		mode := fs.FileMode(0o600)
		if path == string(d) {
			mode = 0o700
		}
		err = errors.Join(err, os.Chmod(path, mode))
	}
	if err != nil {
		return fmt.Errorf("keep other users out of the state of perstack: %w", err)
	}
	return nil
}
