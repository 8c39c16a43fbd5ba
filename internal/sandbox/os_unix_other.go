//go:build unix && !linux

package sandbox

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Other Unix systems have no subreaper and no /proc to list processes, so a process that
// left its group is not found.

func canSweep() error { return nil }

func (k *supervisorLoop) sweep(int) bool { return true }

func startTime(int) uint64 { return 0 }

func endOrphans(uint64, func(int) bool) {}

// collect reaps every program that has ended and then signals its group: these systems
// cannot wait without reaping. The signal could hit another group only if the system had
// used up all process numbers in between.
func (k *supervisorLoop) collect() bool {
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

func (k *supervisorLoop) endAll() {
	for pid := range k.running {
		_ = unix.Kill(-pid, unix.SIGKILL)
	}
	for pid, w := range k.running {
		k.report(w, wait(pid))
	}
}

// startConfined is never called: see [landlock.Available].
func (k *supervisorLoop) startConfined(request) (pid int, err error) { return 0, unix.ENOTSUP }

func (w *runningProgram) noteConfined(string) {}

func (k *supervisorLoop) isLimited() bool { return false }

func (k *supervisorLoop) count() {}

func becomeConfinedProgram() {}

// withoutPrivileges just calls start: there are no capabilities here.
func withoutPrivileges(start func() error, _ <-chan struct{}) error { return start() }

// supervisorAttributes give the supervisor a session of its own.
func supervisorAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func checkPrivileges() error { return nil }

func ownProgram() (string, error) { return os.Executable() }
