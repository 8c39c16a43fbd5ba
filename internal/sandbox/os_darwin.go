package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Harden keeps commands from inheriting descriptors that the parent of this process left
// open, denies debuggers and switches core dumps off. A program calls it after [Init]. It
// does not hide the environment: macOS shows the initial environment of a process to all
// processes of its user.
func Harden() error {
	closeEachOnExec()
	if err := unix.PtraceDenyAttach(); err != nil {
		return fmt.Errorf("keep debuggers from this process: %w", err)
	}
	return noCoreDumps()
}
