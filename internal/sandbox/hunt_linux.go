package sandbox

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	sweepPatience = time.Second
	huntPause     = 2 * time.Millisecond
)

// hunt kills the processes that find picks, and those it picks then, until there are
// none, and has the dead buried, which reports whether there were any. It reports
// whether it came so far in time.
//
// Processes may multiply as fast as they are killed. So all are stopped first, round
// by round, until no new one turns up: a stopped process does not multiply, and while it
// lives it counts against the limit of processes that its kind runs into.
func hunt(patience time.Duration, find func(map[int]proc) []proc, bury func(map[int]proc) bool) bool {
	deadline := time.Now().Add(patience)
	stopped := make(map[proc]bool)
	quiet := 0 // rounds that found nobody; one could have missed somebody
	pause := huntPause
	var found []proc
	for round := 0; time.Now().Before(deadline); round++ {
		all, vanished, err := snapshot()
		if err != nil {
			break
		}
		buried := bury(all)
		found = find(all)
		if len(found) == 0 {
			if quiet++; buried || vanished {
				quiet = 0 // it may have left somebody
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
		if fresh && round%4 != 3 { // not for ever: somebody may wake them
			continue
		}
		for _, p := range found {
			p.end(unix.SIGKILL)
		}
		time.Sleep(pause)
		pause = min(2*pause, 50*huntPause)
	}
	for _, p := range found { // a round may have taken all the time, and only stopped them
		p.end(unix.SIGKILL)
	}
	return false
}

// end signals a process, and at once all of its group if the process is our child:
// then the number of the group cannot have gone to strangers.
func (p proc) end(s unix.Signal) {
	if p.parent == os.Getpid() && p.group > 1 && p.group != unix.Getpgrp() {
		_ = unix.Kill(-p.group, s)
	}
	p.signal(s)
}

// buryIf collects those children that have ended, and strikes them from the list: their
// numbers can belong to others from now on.
func buryIf(all map[int]proc, mine func(proc) bool) (any bool) {
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
