package api

import (
	"context"
	"net"
	"path/filepath"

	"github.com/Microsoft/go-winio"
)

// DefaultHost is where a daemon listens unless it is told otherwise.
const DefaultHost = "npipe:////./pipe/docker_engine"

var dialers = map[string]dialer{"unix": dialUnix, "npipe": dialPipe}

func dialPipe(ctx context.Context, path string) (net.Conn, error) {
	return winio.DialPipeContext(ctx, filepath.FromSlash(path))
}
