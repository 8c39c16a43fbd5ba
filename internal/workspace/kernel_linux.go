package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

func ofKernel(f *os.File) bool { return madeUp(int(f.Fd())) }

// madeUp recognises open files that the kernel makes up. In a workspace that contains
// /proc (the workspace "/", say) /proc/self/environ would give away the secrets of the
// runtime, and some of these files never end.
func madeUp(fd int) bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return true
	}
	switch int64(st.Type) {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC,
		unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.SECURITYFS_MAGIC, unix.BPF_FS_MAGIC:
		return true
	}
	return false
}
