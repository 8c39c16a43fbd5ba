package workspace

import "golang.org/x/sys/unix"

// hasShortNames reports whether a file may have a second, short name in the folder. The
// file systems of Windows do that, here and behind a network; so all do that are not
// known to be others.
func (d folder) hasShortNames() bool {
	var st unix.Statfs_t
	if err := unix.Fstatfs(d.fd, &st); err != nil {
		return true
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.RAMFS_MAGIC,
		unix.OVERLAYFS_SUPER_MAGIC, unix.NFS_SUPER_MAGIC, unix.SQUASHFS_MAGIC, unix.EROFS_SUPER_MAGIC_V1, unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC,
		zfsMagic, bcachefsMagic:
		return false
	}
	return true
}

// Numbers of file systems that grew up outside of the kernel.
const (
	zfsMagic      = 0x2fc12fc1
	bcachefsMagic = 0xca451a4e
)
