package landlock

import "golang.org/x/sys/unix"

const (
	arch = unix.AUDIT_ARCH_X86_64
	// foreign is the first call number of the x32 ABI. It has the same calls under other
	// numbers, which a filter for x86-64 alone would let pass.
	foreign = 0x4000_0000
)

// watchers are the calls by which a program asks for notifications about files.
func watchers() []uint32 { return []uint32{unix.SYS_INOTIFY_INIT, unix.SYS_INOTIFY_INIT1} }

// modeByPath are the calls that change the mode of a file, with the mode as the second
// argument.
func modeByPath() []uint32 { return []uint32{unix.SYS_CHMOD, unix.SYS_FCHMOD} }

// ownersAndTimes are the calls for these that other architectures do not have.
func ownersAndTimes() []uint32 {
	return []uint32{unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
}
