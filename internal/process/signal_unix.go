//go:build unix

package process

import (
	"os"
	"syscall"
)

var brokenPipe = []os.Signal{syscall.SIGPIPE}

// dumping are the signals that make a Go program print its goroutines and end. Signals that
// the kernel sends for a fault of the program itself still do, even if they are caught.
var dumping = []os.Signal{
	syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSYS,
}
