package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Shield keeps commands from the files, pipes and sockets that whoever started us left
// open, lets no debugger attach and allows no core dumps. A program calls it after
// [Init]. It does not hide our environment: macOS shows the one that a process was
// started with to all processes of its user.
func Shield() error {
	sealEach()
	if err := unix.PtraceDenyAttach(); err != nil {
		return fmt.Errorf("keep debuggers from this process: %w", err)
	}
	return noCoreDumps()
}
