package landlock

import "golang.org/x/sys/unix"

const (
	arch    = unix.AUDIT_ARCH_AARCH64
	foreign = 0
)

// watchers are the calls by which a program asks for notifications about files.
func watchers() []uint32 { return []uint32{unix.SYS_INOTIFY_INIT1} }

// modeByPath are the calls that change the mode of a file, with the mode as the second
// argument.
func modeByPath() []uint32 { return []uint32{unix.SYS_FCHMOD} }

// ownersAndTimes are the calls for these that other architectures do not have.
func ownersAndTimes() []uint32 { return nil }
