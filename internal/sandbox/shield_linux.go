package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Shield keeps processes of the same user from reading the memory and the environment
// of this one through /proc or ptrace. A program calls it first thing. It does not
// hold against children with the rights of root, which must be started without
// capabilities.
func Shield() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make this process unreadable for its children: %w", err)
	}
	return nil
}
