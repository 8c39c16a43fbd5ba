package sandbox

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// isLimited reports whether there is anything to count.
func (k *keeper) isLimited() bool {
	for _, w := range k.running {
		if w.most > 0 && w.exceeded == "" {
			return true
		}
	}
	return false
}

// count ends the programs that have more processes and threads than they may. When the
// program itself is dead, collect ends the rest as it always does.
func (k *keeper) count() {
	all, _, err := snapshot()
	if err != nil {
		return
	}
	for _, w := range k.running {
		if w.most > 0 && w.exceeded == "" && k.tasks(w, all) > w.most {
			w.exceeded = fmt.Sprintf("more than %d processes and threads", w.most)
			_ = unix.Kill(-w.pid, unix.SIGKILL)
		}
	}
}

// tasks counts what a program has, and stops when that is too much. A process that left
// the session of its program and has lost its parent can be of any program that was there
// before it, and counts for each: nobody else could be charged with it.
func (k *keeper) tasks(w *ward, all map[int]proc) (n int) {
	for pid, p := range all {
		line := lineage(all, pid, k.self)
		if len(line) == 0 {
			continue
		}
		mine, owned := false, false
		for _, p := range line {
			mine = mine || p.session == w.pid || p.pid == w.pid
			owned = owned || k.running[p.session] != nil || k.running[p.pid] != nil
		}
		if mine || !owned && p.begun >= w.begun {
			n += max(1, len(numbers("/proc/"+strconv.Itoa(pid)+"/task")))
		}
		if n > w.most {
			break
		}
	}
	return n
}
