//go:build unix

package sandbox

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// firstInherited is the first descriptor after the standard streams.
const firstInherited = 3

// sealEach marks every descriptor that we inherited as not to be passed on, one by one:
// those that the system lists, and the low numbers in case it lists too few. An error
// only says that a number is not in use.
func sealEach() {
	for _, list := range []string{"/proc/self/fd", "/dev/fd"} {
		d, err := os.Open(list)
		if err != nil {
			continue
		}
		names, _ := d.Readdirnames(-1)
		d.Close()
		for _, name := range names {
			if fd, err := strconv.Atoi(name); err == nil && fd >= firstInherited {
				unix.CloseOnExec(fd)
			}
		}
	}
	for fd := firstInherited; fd < 256; fd++ {
		unix.CloseOnExec(fd)
	}
}

// noCoreDumps sets both limits: a child cannot raise what we have given up. With 0 as
// the limit alone some systems still hand a dump to a program; Linux does not if the
// process is not dumpable.
func noCoreDumps() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("switch core dumps off: %w", err)
	}
	return nil
}
