package answers

import (
	"fmt"
	"os"
	"path/filepath"
)

// maxPath is how long the address of a socket can be.
const maxPath = 100

// short returns a path of a socket that the kernel accepts, until release is called.
func short(dir, name string) (path string, release func(), err error) {
	if path = filepath.Join(dir, name); len(path) <= maxPath {
		return path, func() {}, nil
	}
	at, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", at.Fd(), name), func() { at.Close() }, nil
}
