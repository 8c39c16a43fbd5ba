//go:build unix

package host

import (
	"os"
	"syscall"
)

var brokenPipe = []os.Signal{syscall.SIGPIPE}
