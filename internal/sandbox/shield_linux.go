package sandbox

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// Shield prepares this process for running what it does not trust. A program calls it
// after [Init], before it reads a secret or starts to listen to anybody.
//
// It keeps processes of the same user from reading the memory and the environment of
// this one: the kernel refuses /proc and ptrace, there is no core dump to find, and the
// environment that we were started with is overwritten in memory (the Go runtime has its
// own copy). Root could read on, so commands are started without capabilities.
//
// It keeps commands from the files, pipes and sockets that whoever started us left
// open: what we open ourselves is never passed on, but what we inherited would be.
//
// And it makes this process the one that inherits the orphans below it, so that it can
// end them if its supervisor is killed.
func Shield() error {
	if err := eraseEnvironment(); err != nil { // while we can still write to ourselves
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make this process unreadable for its children: %w", err)
	}
	if err := noCoreDumps(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("inherit the orphans of commands: %w", err)
	}
	// Linux 5.11. Older kernels, and some that only look like Linux, refuse it.
	if err := unix.CloseRange(firstInherited, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		sealEach()
	}
	return nil
}
