package sandbox

import (
	"math"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// endOrphans kills what a supervisor that was killed has left to us: [Shield] made this
// process the one that inherits. The supervisor began at since. Programs run in sessions
// that are not ours, and no process can join a session; so a child of ours in our
// session, or older than the supervisor, is none of them.
//
// The other processes of the same [Supervisor] are spared. That of another one that began
// later is taken for an orphan, which costs its commands their lives: better than sparing
// what only looks like it.
//
// A process that was not shielded inherits nothing, and must not touch children that
// are not its own.
func endOrphans(since uint64, spared func(pid int) bool) {
	var inherits int32
	_, _, failed := unix.Syscall(unix.SYS_PRCTL, unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&inherits)), 0)
	if failed != 0 || inherits == 0 {
		return
	}
	self := os.Getpid()
	session, err := unix.Getsid(0)
	if err != nil {
		return
	}
	if since == math.MaxUint64 {
		since = 0 // /proc hid the supervisor; then its session has to do
	}
	isOrphan := func(p proc) bool {
		return p.parent == self && p.session != session && p.begun >= since && !spared(p.pid)
	}
	find := func(all map[int]proc) (found []proc) {
		for pid, p := range all {
			if line := lineage(all, pid, self); len(line) > 0 && isOrphan(line[len(line)-1]) {
				found = append(found, p)
			}
		}
		return found
	}
	hunt(defaultPatience, find, func(all map[int]proc) bool { return buryIf(all, isOrphan) })
}
