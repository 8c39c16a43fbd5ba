package space

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// The calls of this file work on descriptors: a path could lead elsewhere a moment later.

// cloneTree returns a copy of the mounts at a path, which is not attached anywhere yet. The
// copy gives programs no set-user-ID rights and no devices.
func cloneTree(dir int, path string, attributes uint64) (int, error) {
	fd, err := unix.OpenTree(dir, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW)
	if err != nil {
		return -1, err
	}
	attr := unix.MountAttr{Attr_set: attributes, Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("restrict it: %w", err)
	}
	return fd, nil
}

// An option is a setting of a file system.
type option struct{ name, value string }

// newMount makes a file system that is not attached anywhere yet.
func newMount(fs string, options []option, attributes int) (int, error) {
	config, err := unix.Fsopen(fs, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", fs, err)
	}
	defer unix.Close(config)
	for _, o := range options {
		if o.value == "" {
			err = unix.FsconfigSetFlag(config, o.name)
		} else {
			err = unix.FsconfigSetString(config, o.name, o.value)
		}
		if err != nil {
			return -1, fmt.Errorf("set %s of %s: %w", o.name, fs, err)
		}
	}
	if err := unix.FsconfigCreate(config); err != nil {
		return -1, fmt.Errorf("make %s: %w", fs, err)
	}
	fd, err := unix.Fsmount(config, unix.FSMOUNT_CLOEXEC, attributes)
	if err != nil {
		return -1, fmt.Errorf("mount %s: %w", fs, err)
	}
	return fd, nil
}

// moveMount attaches a tree to a file or directory, even to a link itself.
func moveMount(tree, at int) error {
	return unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// openBeneath opens a path below a directory without following any link; the last name may be
// a link, which is then opened itself.
func openBeneath(dir int, path string) (int, error) {
	return unix.Openat2(dir, path, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
}

// mountID returns the number of the mount that a descriptor lies on. Numbers are not reused
// while the mount exists.
func mountID(fd int) (uint64, error) {
	var info unix.Statx_t
	err := unix.Statx(fd, "", unix.AT_EMPTY_PATH|unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &info)
	return info.Mnt_id, err
}
