//go:build unix

package sandbox

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

func platformSafe(string) bool { return false }

func sameVariable(a, b string) bool { return a == b }

func withExtension(program string) (string, error) { return program, nil }

// executable checks a candidate as a shell does.
func executable(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return "", ErrNotFound
	}
	if info.Mode().Perm()&0o111 == 0 {
		return "", ErrPermission
	}
	return path, nil
}

// firstInherited is the first descriptor after the standard streams.
const firstInherited = 3

// closeEachOnExec marks every inherited descriptor as close-on-exec, one by one: those
// that the system lists, and the low numbers in case the list is incomplete. An error only
// means that a number is not in use.
func closeEachOnExec() {
	for _, list := range []string{"/proc/self/fd", "/dev/fd"} {
		for _, fd := range numericEntries(list) {
			if fd >= firstInherited {
				unix.CloseOnExec(fd)
			}
		}
	}
	for fd := firstInherited; fd < 256; fd++ {
		unix.CloseOnExec(fd)
	}
}

// numericEntries lists the entries of a directory that are numbers.
func numericEntries(path string) (list []int) {
	d, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// noCoreDumps sets the soft and the hard limit, so that a child cannot raise it. Despite a
// limit of 0, some systems pass a dump to a program; Linux does not if the process is not
// dumpable.
func noCoreDumps() error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("switch core dumps off: %w", err)
	}
	return nil
}
