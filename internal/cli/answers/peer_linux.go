package answers

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox"
)

// checkPeer refuses other users, and programs that a job started.
func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) { peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	switch {
	case errors.Join(err, failed) != nil:
		return errors.Join(err, failed)
	case int(peer.Uid) != os.Getuid():
		return errors.New("the job belongs to another user")
	case sandbox.Supervised(int(peer.Pid)):
		return errors.New("a program that a job started cannot answer")
	}
	return nil
}
