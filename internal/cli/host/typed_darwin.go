package host

import "golang.org/x/sys/unix"

// dropTyped drops what was typed on a terminal and not read.
func dropTyped(fd int) error {
	const input = 1 // FREAD
	return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, input)
}
