package sandbox

import (
	"fmt"
	"math"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// canSweep says why processes that left their group could not be found.
func canSweep() error {
	if _, err := readProc(os.Getpid()); err != nil {
		return fmt.Errorf("find the processes that commands start: %w; mount /proc", err)
	}
	return nil
}

// collect takes care of every child that has ended: programs, and processes that lost
// their parent and became ours. It reports whether nothing is left to sweep.
func (k *keeper) collect() bool {
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

// finish ends what belongs to a program that has ended: also after a good end, what it
// leaves running in the background would hold the pipe, and outlive the run. It reports
// whether nothing is left that should not be there.
func (k *keeper) finish(w *ward) bool {
	_ = unix.Kill(-w.pid, unix.SIGKILL) // before the number is given back to the system
	status := wait(w.pid)
	closeAll(w.visible...)
	delete(k.running, w.pid)
	delete(k.byID, w.id)
	clean := k.sweep(w.pid)
	k.report(w, status)
	return clean
}

// deadChild returns a child that has ended, and leaves it unreaped: so long its number
// cannot be given to another process, and a signal to its group cannot hit a stranger.
// It returns 0 if all live, and whether there is any.
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
			// The number stands behind three int32, aligned like a pointer.
			const align = unsafe.Sizeof(uintptr(0)) - 1
			offset := (3*unsafe.Sizeof(int32(0)) + align) &^ align
			return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), offset))), true
		}
	}
}

// sweep kills what ended programs left behind: the rest of the group ended, if that is
// not 0, and strays, which made sessions of their own and came down to us when their
// parents died. A stray is killed when it must be of a program that has ended: because
// none runs, or because it began before all that run. Others wait for their turn. It
// reports whether it got done.
func (k *keeper) sweep(ended int) bool {
	if _, any := deadChild(); !any {
		return true // no child, so no descendant
	}
	if !hunt(sweepPatience, func(all map[int]proc) []proc { return k.strays(all, ended) }, k.bury) {
		return false
	}
	// A list of /proc can miss somebody; what the kernel waits for cannot.
	_, any := deadChild()
	return len(k.running) > 0 || !any
}

// strays lists the descendants that no running program can have started.
func (k *keeper) strays(all map[int]proc, ended int) (found []proc) {
	first := uint64(math.MaxUint64)
	for _, w := range k.running {
		first = min(first, w.begun)
	}
	for pid, p := range all {
		line := lineage(all, pid, k.self)
		if len(line) == 0 {
			continue
		}
		owned, known := false, len(k.running) == 0 || line[len(line)-1].begun < first
		for _, p := range line {
			owned = owned || k.running[p.session] != nil || k.running[p.pid] != nil
			known = known || ended != 0 && p.session == ended
		}
		if known && !owned {
			found = append(found, p)
		}
	}
	return found
}

// endAll kills everything, however long it takes: when this process ends, nobody is
// left who would.
func (k *keeper) endAll() {
	for pid := range k.running {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
	descendants := func(all map[int]proc) (found []proc) {
		for pid, p := range all {
			if len(lineage(all, pid, k.self)) > 0 {
				found = append(found, p)
			}
		}
		return found
	}
	for pause := huntPause; ; pause = min(2*pause, time.Second) {
		k.reapAll(nil)
		if _, any := deadChild(); !any {
			return
		}
		hunt(sweepPatience, descendants, k.reapAll)
		time.Sleep(pause) // one may hang in the kernel, and dies when it comes back
	}
}

// reapAll collects every child that has ended, strikes it from the list, and reports
// the programs among them.
func (k *keeper) reapAll(all map[int]proc) (any bool) {
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
			k.report(w, status)
		}
	}
}

// bury collects the processes that became our children and have ended. Programs are
// left to collect.
func (k *keeper) bury(all map[int]proc) bool {
	return buryIf(all, func(p proc) bool { return p.parent == k.self && k.running[p.pid] == nil })
}
