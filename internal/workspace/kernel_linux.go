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
	switch uint32(st.Type) { // where it has 32 bits it is signed
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC,
		unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.SECURITYFS_MAGIC, unix.BPF_FS_MAGIC,
		unix.BINFMTFS_MAGIC, unix.SELINUX_MAGIC, unix.SMACK_MAGIC, unix.AAFS_MAGIC, unix.EFIVARFS_MAGIC,
		unix.PSTOREFS_MAGIC, unix.RDTGROUP_SUPER_MAGIC, unix.NSFS_MAGIC, unix.XENFS_SUPER_MAGIC,
		configfsMagic, fusectlMagic, mqueueMagic:
		return true
	}
	return false
}

// Numbers that the kernel keeps beside its code, not in its public list: see the files
// fs/configfs/mount.c, fs/fuse/control.c and ipc/mqueue.c.
const (
	configfsMagic = 0x62656570
	fusectlMagic  = 0x65735543
	mqueueMagic   = 0x19800202
)
