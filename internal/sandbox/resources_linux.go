package sandbox

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// limitResources sets the limits that the kernel enforces for each process, and that a program
// cannot raise. That on core dumps is inherited from the supervisor process; see [Harden]. They protect other processes of the user, so one that cannot be set does not
// keep the program from starting.
func limitResources(l policy.Limits) {
	lower := func(resource int, most uint64) {
		var now unix.Rlimit
		if most > 0 && unix.Getrlimit(resource, &now) == nil && now.Max > most {
			_ = unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most})
		}
	}
	lower(unix.RLIMIT_NPROC, uint64(l.Tasks))
	lower(unix.RLIMIT_FSIZE, uint64(l.FileSize))
	lower(unix.RLIMIT_NOFILE, uint64(l.OpenFiles))
	lower(unix.RLIMIT_SIGPENDING, uint64(l.Signals))
}

// killFirst makes the kernel kill this process and the program before others when memory is short.
// A process that is not dumpable cannot do that any more.
func killFirst() {
	const score = "500" // of 1000
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(score), 0)
}
