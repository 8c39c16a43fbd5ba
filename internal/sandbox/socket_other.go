//go:build unix && !linux

package sandbox

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const noSignal = 0

// receiveSealed receives descriptors and marks them as not to be passed on, while no
// process can be started.
func receiveSealed(fd int, p, room []byte) (n, rights, flags int, from unix.Sockaddr, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	n, rights, flags, from, err = unix.Recvmsg(fd, p, room, 0)
	if err != nil {
		return n, rights, flags, from, err
	}
	messages, parseErr := unix.ParseSocketControlMessage(room[:rights])
	if parseErr != nil {
		return n, rights, flags, from, parseErr
	}
	for i := range messages {
		fds, _ := unix.ParseUnixRights(&messages[i])
		for _, received := range fds {
			unix.CloseOnExec(received)
		}
	}
	return n, rights, flags, from, nil
}
