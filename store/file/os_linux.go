package file

import (
	"bytes"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// allocate takes room on the disk for the bytes between from and to, without
// changing the length of the file.
func allocate(f *os.File, from, to int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, from, to-from)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL), errors.Is(err, unix.EPERM):
			return errors.ErrUnsupported
		default:
			return os.NewSyscallError("fallocate", err)
		}
	}
}

// datasync makes what was written durable, with the length of the file, but without
// its times, which saves a second write to the disk.
func datasync(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}

// processStart tells this process from others with the same number: by the boot, and
// by the clock ticks between the boot and the start.
func processStart() (bootID, start string) {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	stat, _ := os.ReadFile("/proc/self/stat")
	// The second field is the program's name in parentheses, and may hold anything.
	_, rest, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	const startTime = 22 - 3 // field 22 of stat, counted from the third
	if fields := bytes.Fields(rest); len(fields) > startTime {
		start = string(fields[startTime])
	}
	return string(bytes.TrimSpace(id)), start
}
