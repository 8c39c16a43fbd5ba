//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package guard

import "golang.org/x/sys/unix"

const (
	getSettings = unix.TIOCGETA
	putSettings = unix.TIOCSETA
)

// flushInput discards what was typed and not read.
func flushInput(fd int) error {
	const read = 1 // FREAD
	return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, read)
}

// replace makes a descriptor a copy of another.
func replace(from, to int) error { return unix.Dup2(from, to) }
