//go:build unix && !linux

package sandbox

import (
	"os"
	"syscall"
)

// withoutPrivileges has nothing to take away: there are no capabilities here.
func withoutPrivileges(start func() error, _ <-chan struct{}) error { return start() }

// ofSupervisor gives the supervisor a session of its own.
func ofSupervisor() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func checkPrivileges() error { return nil }

func ownProgram() (string, error) { return os.Executable() }
