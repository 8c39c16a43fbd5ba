package sandbox

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// canSweep says why processes that leave their group could not be found; nil if they can.
func canSweep() error {
	if _, err := readProc(os.Getpid()); err != nil {
		return fmt.Errorf("find the processes that commands start: %w; mount /proc", err)
	}
	return nil
}

// collect reaps every child that has ended: programs, and orphans that this process
// inherited. It reports whether nothing is left to sweep.
func (k *supervisorLoop) collect() bool {
	clean := true
	for {
		pid, _ := deadChild()
		if pid == 0 {
			return clean
		}
		if w := k.running[pid]; w != nil {
			clean = k.finish(w) && clean
		} else {
			wait(pid)
		}
	}
}

// finish kills what an ended program left running, even if it ended well: background
// processes would hold its pipes and outlive the run. It reports whether nothing is left.
func (k *supervisorLoop) finish(w *runningProgram) bool {
	_ = unix.Kill(-w.pid, unix.SIGKILL) // before the number is given back to the system
	status := w.status(wait(w.pid))
	closeAll(w.procEntries...)
	delete(k.running, w.pid)
	delete(k.byID, w.id)
	clean := k.sweep(w.pid)
	w.exceeded = cmp.Or(w.exceeded, w.group.exceeded())
	w.group.remove()
	k.report(w, status)
	return clean
}

// deadChild returns a child that has ended, without reaping it: until then its number is
// not reused, and a signal to its group cannot hit another one. It returns 0 if all
// children run, and whether there are any.
func deadChild() (pid int, any bool) {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT|unix.WALL, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, false // ECHILD
		case info.Signo == 0:
			return 0, true
		default:
			// The pid follows three int32, aligned like a pointer.
			const align = unsafe.Sizeof(uintptr(0)) - 1
			offset := (3*unsafe.Sizeof(int32(0)) + align) &^ align
			return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), offset))), true
		}
	}
}

// sweep kills what ended programs left behind: the rest of the group ended, if that is
// not 0, and strays. A stray made a session of its own, and was inherited by this process
// when its parent died. It is killed when it must belong to a program that has ended:
// because none runs, or because it began before all that run. Other strays are left for a
// later sweep. It reports whether it finished.
func (k *supervisorLoop) sweep(ended int) bool {
	if _, any := deadChild(); !any {
		return true // no child, so no descendant
	}
	if !killAll(sweepPatience, func(all map[int]proc) []proc { return k.strays(all, ended) }, k.reap) {
		return false
	}
	// A list of /proc can miss a process; waiting for children cannot.
	_, any := deadChild()
	return len(k.running) > 0 || !any
}

// strays lists the descendants that no running program can have started.
func (k *supervisorLoop) strays(all map[int]proc, ended int) (found []proc) {
	first := uint64(math.MaxUint64)
	for _, w := range k.running {
		first = min(first, w.begun)
	}
	for line := range lineages(all, k.self) {
		owned, known := false, len(k.running) == 0 || line[len(line)-1].begun < first
		for _, p := range line {
			owned = owned || k.running[p.session] != nil || k.running[p.pid] != nil
			known = known || ended != 0 && p.session == ended
		}
		if known && !owned {
			found = append(found, line[0])
		}
	}
	return found
}

// endAll kills everything, however long it takes: after this process ends, nothing else
// would do it.
func (k *supervisorLoop) endAll() {
	for pid := range k.running {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
	descendants := func(all map[int]proc) (found []proc) {
		for line := range lineages(all, k.self) {
			found = append(found, line[0])
		}
		return found
	}
	for pause := killPause; ; pause = min(2*pause, time.Second) {
		k.reapAll(nil)
		if _, any := deadChild(); !any {
			return
		}
		killAll(sweepPatience, descendants, k.reapAll)
		time.Sleep(pause) // a process can hang in a system call, and dies when that returns
	}
}

// reapAll reaps every child that has ended, removes it from the list, and reports the
// programs among them.
func (k *supervisorLoop) reapAll(all map[int]proc) (any bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, unix.WNOHANG|unix.WALL, nil)
		if err == syscall.EINTR {
			continue
		}
		if pid <= 0 {
			return any
		}
		any = true
		delete(all, pid)
		if w := k.running[pid]; w != nil {
			delete(k.running, pid)
			k.report(w, w.status(status))
		}
	}
}

// reap reaps the orphans that this process inherited and that have ended. Programs are
// left to collect.
func (k *supervisorLoop) reap(all map[int]proc) bool {
	return reapIf(all, func(p proc) bool { return p.parent == k.self && k.running[p.pid] == nil })
}

const (
	sweepPatience = time.Second
	killPause     = 2 * time.Millisecond
)

// killAll kills the processes that find returns, again and again until there are none.
// reap removes ended processes from the list and reports whether there were any. killAll
// reports whether it finished in time.
//
// Processes can fork as fast as they are killed. So all are stopped first, round by round,
// until no new one appears: a stopped process does not fork, and it still counts against
// the limit of processes that the others run into.
func killAll(patience time.Duration, find func(map[int]proc) []proc, reap func(map[int]proc) bool) bool {
	deadline := time.Now().Add(patience)
	stopped := make(map[proc]bool)
	quiet := 0 // rounds that found nothing; a single one could have missed a process
	pause := killPause
	var found []proc
	for round := 0; time.Now().Before(deadline); round++ {
		all, vanished, err := snapshot()
		if err != nil {
			break
		}
		buried := reap(all)
		found = find(all)
		if len(found) == 0 {
			if quiet++; buried || vanished {
				quiet = 0 // it may have left a child
			}
			if quiet == 2 {
				return true
			}
			continue
		}
		quiet = 0
		fresh := false
		for _, p := range found {
			if !stopped[p] {
				fresh, stopped[p] = true, true
				p.end(unix.SIGSTOP)
			}
		}
		if fresh && round%4 != 3 { // not for ever: another process could continue them
			continue
		}
		for _, p := range found {
			p.end(unix.SIGKILL)
		}
		time.Sleep(pause)
		pause = min(2*pause, 50*killPause)
	}
	for _, p := range found { // the last round may have only stopped them
		p.end(unix.SIGKILL)
	}
	return false
}

// end signals a process, and all of its group if the process is our child: then the
// number of the group cannot have been reused.
func (p proc) end(s unix.Signal) {
	if p.parent == os.Getpid() && p.group > 1 && p.group != unix.Getpgrp() {
		_ = unix.Kill(-p.group, s)
	}
	p.signal(s)
}

// reapIf reaps those children that have ended, and removes them from the list: their
// numbers can be reused from now on.
func reapIf(all map[int]proc, mine func(proc) bool) (any bool) {
	for pid, p := range all {
		if mine(p) {
			if got, err := syscall.Wait4(pid, nil, unix.WNOHANG, nil); err == nil && got == pid {
				delete(all, pid)
				any = true
			}
		}
	}
	return any
}

// endOrphans kills what a killed supervisor left behind: since [Harden], this process
// inherits it. The supervisor began at since. Programs run in sessions of their own, and a
// process cannot join a session; so a child in our session, or older than the supervisor,
// is not one of them.
//
// The other processes of the same [Supervisor] are spared. A process of another Supervisor
// that began later is taken for an orphan, and its commands are killed: sparing it would
// spare orphans that look the same.
//
// A process that did not call Harden inherits nothing, and must not kill children of other
// code in this program.
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
		since = 0 // /proc hid the supervisor; then only the session decides
	}
	isOrphan := func(p proc) bool {
		return p.parent == self && p.session != session && p.begun >= since && !spared(p.pid)
	}
	find := func(all map[int]proc) (found []proc) {
		for line := range lineages(all, self) {
			if isOrphan(line[len(line)-1]) {
				found = append(found, line[0])
			}
		}
		return found
	}
	killAll(defaultPatience, find, func(all map[int]proc) bool { return reapIf(all, isOrphan) })
}
