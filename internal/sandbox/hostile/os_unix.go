//go:build unix

package hostile

import (
	"strconv"
	"syscall"
)

// signal 0 does nothing, and fails like any other signal.
func signal(pid string) error {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return err
	}
	return syscall.Kill(n, 0)
}

// ownSession makes a process that is not found by its group.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
