package cell

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// Enter locks this thread into the cell, with the filter of system calls, for a program
// that takes the place of this process (execve). Its goroutine stays on the thread.
//
// Of /proc the program sees itself, not what it starts: the kernel knows no rule for
// processes that do not exist yet.
func (c *Cell) Enter() error {
	runtime.LockOSThread()
	modest()
	own := *c
	own.Read = append(own.Read[:len(own.Read):len(own.Read)], Entries(os.Getpid())...)
	code := compile(rules()) // before the files are out of reach
	if err := own.confine(); err != nil {
		return err
	}
	return install(code)
}

// Entries are what a program in a cell sees of itself in /proc. It is not all that is
// there: next to it are the connections of everybody else (net, and task, which has it
// once more).
//
// Whoever starts the program keeps them open (O_PATH) as long as it runs: the kernel
// forgets such files when memory is short, and what it makes anew is another file, which
// the cell does not have.
func Entries(pid int) (paths []string) {
	for _, name := range []string{
		"auxv", "cgroup", "cmdline", "comm", "environ", "fd", "fdinfo", "limits", "maps", "mountinfo", "mounts",
		"oom_score", "oom_score_adj", "smaps", "smaps_rollup", "stat", "statm", "status",
	} {
		paths = append(paths, "/proc/"+strconv.Itoa(pid)+"/"+name)
	}
	return paths
}

// modest lets the program go first when memory is short, and keeps it from files without
// number. Both are for the others: what does not work is not worth an end.
func modest() {
	const (
		first     = "500" // of 1000
		openFiles = 4096
	)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(first), 0)
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil && limit.Max > openFiles {
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: openFiles, Max: openFiles})
	}
}
