//go:build unix && !linux && !darwin

package workspace

import "golang.org/x/sys/unix"

// renameExclusive is not known here.
func renameExclusive(int, string, int, string) error { return unix.ENOSYS }
