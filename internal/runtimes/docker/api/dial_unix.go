//go:build !windows

package api

import (
	"context"
	"net"
)

const localScheme = "unix"

// DefaultHost is where a daemon listens unless it is told otherwise.
const DefaultHost = "unix:///var/run/docker.sock"

func dialLocal(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", path)
}
