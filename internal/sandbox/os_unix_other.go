//go:build unix && !linux

package sandbox

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/policy"
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
func (k *supervisorLoop) startConfined(request, *policy.Policy) (*runningProgram, error) {
	return nil, unix.ENOTSUP
}

// groups and programGroup exist on Linux only.
type (
	groups       struct{ dir *os.File }
	programGroup struct{}
)

func supervisorGroups() *groups { return nil }

func takeGroups() *groups { return nil }

func (g *groups) remove() error { return nil }

// A heldSandbox exists on Linux only.
type heldSandbox struct{}

func holdSandbox(*os.ProcAttr, *policy.Policy) (*os.File, error) { return nil, unix.ENOTSUP }

func takeSandbox() (*heldSandbox, error) { return nil, nil }

func (*heldSandbox) build() (*os.File, error) { return nil, unix.ENOTSUP }

func (k *supervisorLoop) startInside(request) (*runningProgram, error) { return nil, unix.ENOTSUP }

func becomeFirstProcess() {}

func (k *supervisorLoop) isLimited() bool { return false }

func (k *supervisorLoop) count() {}

func (k *supervisorLoop) weigh() {}

func (l *link) descendants() []int { return nil }

func becomeConfinedProgram() {}

// withoutPrivileges just calls start: there are no capabilities here.
func withoutPrivileges(start func() error, _ <-chan struct{}) error { return start() }

func withoutNewPrivileges(start func() error, _ <-chan struct{}) error { return start() }

// supervisorAttributes give the supervisor a session of its own.
func supervisorAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func checkPrivileges() error { return nil }

func ownProgram() (string, error) { return os.Executable() }
