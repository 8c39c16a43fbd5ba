package workspace

import (
	"os"
	"strconv"
)

// forChild names the descriptor. The child resolves it after fork, in its own table,
// which is a copy of ours until it executes the program.
func forChild(d *Dir) string {
	opened, err := d.f.Stat()
	if err != nil {
		return d.path
	}
	path := "/proc/self/fd/" + strconv.Itoa(int(d.f.Fd()))
	if there, err := os.Stat(path); err != nil || !os.SameFile(opened, there) {
		return d.path // no /proc here
	}
	return path
}
