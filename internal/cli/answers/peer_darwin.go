package answers

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// checkPeer refuses other users.
func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Xucred
	var failed error
	err = raw.Control(func(fd uintptr) { peer, failed = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) })
	switch {
	case errors.Join(err, failed) != nil:
		return errors.Join(err, failed)
	case int(peer.Uid) != os.Getuid():
		return errors.New("the job belongs to another user")
	}
	return nil
}
