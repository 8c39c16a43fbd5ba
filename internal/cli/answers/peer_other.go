//go:build !linux && !darwin

package answers

import "net"

// checkPeer: this system does not tell who connects. The directory of the socket is the user's.
func checkPeer(*net.UnixConn) error { return nil }
