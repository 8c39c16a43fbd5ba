package cell

import "golang.org/x/sys/unix"

const (
	arch = unix.AUDIT_ARCH_X86_64
	// foreign is where the numbers of x32 begin: the same calls, and a filter that only
	// knows the others would let them pass.
	foreign = 0x4000_0000
)

// watchers are the calls by which a program asks to be told what happens to files.
func watchers() []uint32 { return []uint32{unix.SYS_INOTIFY_INIT, unix.SYS_INOTIFY_INIT1} }

// modeByPath are the calls that change the mode of a file, and have it second.
func modeByPath() []uint32 { return []uint32{unix.SYS_CHMOD, unix.SYS_FCHMOD} }
