package sandbox

import "golang.org/x/sys/unix"

// noSignal keeps a write to a dead peer from being a signal to us.
const noSignal = unix.MSG_NOSIGNAL

// receiveSealed receives descriptors that are not passed on, from the first instant.
func receiveSealed(fd int, p, room []byte) (n, rights, flags int, from unix.Sockaddr, err error) {
	return unix.Recvmsg(fd, p, room, unix.MSG_CMSG_CLOEXEC)
}
