package sandbox

import (
	"fmt"
	"math"

	"golang.org/x/sys/unix"
)

// Shield prepares this process for running what it does not trust. A program calls it
// first thing.
//
// It keeps processes of the same user from reading the memory and the environment of
// this one through /proc or ptrace. That does not hold against children with the rights
// of root, which must be started without capabilities.
//
// And it keeps commands from the files, pipes and sockets that whoever started us left
// open: what we open ourselves is never passed on, but what we inherited would be.
func Shield() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make this process unreadable for its children: %w", err)
	}
	// Linux 5.11. Older kernels, and some that only look like Linux, refuse it.
	if err := unix.CloseRange(firstInherited, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		sealEach()
	}
	return nil
}
