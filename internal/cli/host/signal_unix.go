//go:build unix

package host

import (
	"os"
	"syscall"
)

var brokenPipe = []os.Signal{syscall.SIGPIPE}

// dumping are the signals that make a Go program print its goroutines and end. Those that
// the kernel sends for a mistake of the program itself still do, whoever else catches them.
var dumping = []os.Signal{
	syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSYS,
}
