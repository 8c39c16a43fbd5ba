//go:build unix && !linux

package sandbox

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// There is no process here that inherits orphans, and no list to find them in: what left
// its group is not found.

func canSweep() error { return nil }

func (k *keeper) sweep(int) bool { return true }

func startTime(int) uint64 { return 0 }

func endOrphans(uint64, func(int) bool) {}

// collect takes care of every program that has ended. It is reaped first, since there
// is no way to look without. The signal that follows could hit a stranger only if the
// system had used up all process numbers in between.
func (k *keeper) collect() bool {
	for pid, w := range k.running {
		var status syscall.WaitStatus
		if got, err := syscall.Wait4(pid, &status, unix.WNOHANG, nil); err == nil && got == pid {
			_ = unix.Kill(-pid, unix.SIGKILL)
			delete(k.running, pid)
			delete(k.byID, w.id)
			k.report(w, status)
		}
	}
	return true
}

func (k *keeper) endAll() {
	for pid := range k.running {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
	for pid, w := range k.running {
		k.report(w, wait(pid))
	}
}
