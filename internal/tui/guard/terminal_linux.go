package guard

import "golang.org/x/sys/unix"

const (
	getSettings = unix.TCGETS
	putSettings = unix.TCSETS
)

// flushInput discards what was typed and not read.
func flushInput(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }

// replace makes a descriptor a copy of another.
func replace(from, to int) error { return unix.Dup3(from, to, 0) }
