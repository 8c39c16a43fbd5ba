package space

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// CommandAttributes are those of the first process of a command, which the holder starts and
// which calls [EnterCommand]. When that process ends, the kernel ends all others of the command, and
// when the holder ends, which is the first process of the namespace around, it ends this one.
func CommandAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Setsid: true}
}

// EnterCommand gives this process a /proc of its own, in which only its command is to be seen.
// Settings of the kernel are read-only there, even to root. Mounts of the holder still reach this
// process, and none of its own leaves it.
func EnterCommand() error {
	const place = "/proc"
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("keep the mounts of a command to itself: %w", err)
	}
	if err := unix.Mount("proc", place, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc in a sandbox: %w", err)
	}
	names := []string{"sys", "sysrq-trigger", "irq", "bus", "fs"}
	if os.Geteuid() == 0 { // it owns these too
		names = append(names, "acpi", "asound", "driver", "scsi")
	}
	for _, name := range names {
		if err := cover(place + "/" + name); err != nil {
			return fmt.Errorf("make %s/%s read-only in a sandbox: %w", place, name, err)
		}
	}
	return nil
}

// cover makes a part of /proc read-only. A kernel does not have all of them.
func cover(path string) error {
	at, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(at)
	tree, err := cloneTree(at, "", unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	return moveMount(tree, at)
}
