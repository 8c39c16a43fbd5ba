//go:build linux && (amd64 || arm64)

package landlock

import (
	"testing"

	"golang.org/x/sys/unix"
)

// The filter inside judges calls that mounts, namespaces or missing capabilities stop too: no
// program would notice a rule that is missing.
func TestInsideRules(t *testing.T) {
	judged := make(map[uint32]bool)
	for _, r := range insideRules() {
		judged[r.call] = true
	}
	for _, call := range []uint32{
		unix.SYS_PRLIMIT64, unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET, unix.SYS_SCHED_SETAFFINITY, unix.SYS_MOVE_PAGES,
		unix.SYS_FCNTL, unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_KEYCTL, unix.SYS_IOCTL, unix.SYS_SOCKET,
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
		unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CLONE, unix.SYS_CLONE3, unix.SYS_BPF, unix.SYS_IO_URING_SETUP,
	} {
		if !judged[call] {
			t.Errorf("no rule is about call %d", call)
		}
	}
}
