package host

import "golang.org/x/sys/unix"

// dropTyped drops what was typed on a terminal and not read.
func dropTyped(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
