//go:build unix && !linux

package sandbox

import "os"

// withoutPrivileges has nothing to take away: there are no capabilities here.
func withoutPrivileges(start func() error) error { return start() }

func checkPrivileges() error { return nil }

func ownProgram() (string, error) { return os.Executable() }
