package probe

import (
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// outerName and innerName are the whole command lines of the two processes that try a sandbox:
	// the one that makes the namespaces, and the one in them. This process does not make them
	// itself: it may be hardened, and then the kernel lets no ordinary user map ids for a child
	// that still shares its memory.
	outerName = "perstack-probe"
	innerName = "perstack-probe-inside"

	reportFD = 3 // a pipe to the process that asked, for lines of JSON
	mappedFD = 4 // in the inner process: a pipe that closes when its ids are mapped
)

// initCalled is closed when main has called Init. It is a fact about the program: whether
// starting this binary again gives a probe, or runs main again.
var (
	initCalled = make(chan struct{})
	markInit   = sync.OnceFunc(func() { close(initCalled) })
)

// Init does the work of a probe, and does not return, in a process that was started for that.
// args is the command line. Package sandbox calls it.
func Init(args []string) {
	if len(args) == 1 && isPipe(reportFD) {
		switch args[0] {
		case outerName:
			beOuter()
			syscall.Exit(0)
		case innerName:
			beInner()
			syscall.Exit(0)
		}
	}
	markInit()
}

func isPipe(fd int) bool {
	var info unix.Stat_t
	return unix.Fstat(fd, &info) == nil && info.Mode&unix.S_IFMT == unix.S_IFIFO
}
