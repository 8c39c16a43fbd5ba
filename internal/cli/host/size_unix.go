//go:build unix

package host

import (
	"os"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// size returns that of a terminal. A process in the background has none: the shell writes there.
func size(f *os.File) (columns, rows int) {
	fd := int(f.Fd())
	if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil && group != unix.Getpgrp() {
		return 0, 0
	}
	columns, rows, err := term.GetSize(fd)
	if err != nil {
		return 0, 0
	}
	return columns, rows
}
