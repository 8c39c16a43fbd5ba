package api

import (
	"context"
	"net"
	"path/filepath"

	"github.com/Microsoft/go-winio"
)

const localScheme = "npipe"

// DefaultHost is where a daemon listens unless it is told otherwise.
const DefaultHost = "npipe:////./pipe/docker_engine"

func dialLocal(ctx context.Context, path string) (net.Conn, error) {
	return winio.DialPipeContext(ctx, filepath.FromSlash(path))
}
