package plain

import (
	"os"

	"golang.org/x/sys/unix"
)

// flush drops what was typed at a terminal and not read yet, including a line that was begun. If it
// fails, the time after which an approval counts is what remains.
func flush(in *os.File) {
	conn, err := in.SyscallConn() // Fd would change how the file is read
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { _ = unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) })
}
