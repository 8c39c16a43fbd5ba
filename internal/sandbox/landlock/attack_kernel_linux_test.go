package landlock_test

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func kernelAttacks() []attack {
	closed := func(name string, try func() error) attack {
		return attack{name: "kernel: " + name, inside: errnos(unix.EPERM), try: func(*scene) error { return try() }}
	}
	// remove takes the object away again that a call made.
	made := func(get, remove uintptr, args ...uintptr) error {
		var a [3]uintptr
		copy(a[:], args)
		id, _, errno := unix.RawSyscall(get, a[0], a[1], a[2])
		if errno != 0 {
			return errno
		}
		const rmid = unix.IPC_RMID
		if remove == unix.SYS_SEMCTL {
			return call(remove, id, 0, rmid)
		}
		return call(remove, id, rmid, 0)
	}
	maybe := func(a attack) attack { a.optional = true; return a }
	reached := func(a attack, by ...syscall.Errno) attack { a.reached = by; return a }
	world := func(name string, flags uintptr) attack {
		return maybe(closed("clone with "+name, func() error {
			child := exec.Command("/bin/true")
			child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
			return child.Run()
		}))
	}
	name := func(s string) uintptr { return uintptr(unsafe.Pointer(&append([]byte(s), 0)[0])) }
	all := []attack{
		closed("shared memory", func() error { return made(unix.SYS_SHMGET, unix.SYS_SHMCTL, unix.IPC_PRIVATE, 4096, 0o600) }),
		closed("message queue", func() error { return made(unix.SYS_MSGGET, unix.SYS_MSGCTL, unix.IPC_PRIVATE, 0o600) }),
		closed("semaphores", func() error { return made(unix.SYS_SEMGET, unix.SYS_SEMCTL, unix.IPC_PRIVATE, 1, 0o600) }),
		closed("named queue", func() error {
			queue := "perstack-test-" + strconv.Itoa(os.Getpid())
			fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, name(queue), unix.O_RDWR|unix.O_CREAT, 0o600, 0, 0, 0)
			if errno != 0 {
				return errno
			}
			unix.Close(int(fd))
			return call(unix.SYS_MQ_UNLINK, name(queue))
		}),
		maybe(closed("keys", func() error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, false); return err })),
		maybe(closed("a key", func() error {
			_, err := unix.AddKey("user", "perstack-test", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
			return err
		})),
		closed("unshare", func() error { return unix.Unshare(unix.CLONE_FS) }),
		reached(closed("setns", func() error { return unix.Setns(-1, 0) }), unix.EBADF),
		world("a user", unix.CLONE_NEWUSER),
		world("a user and a network", unix.CLONE_NEWUSER|unix.CLONE_NEWNET),
		world("a user and mounts", unix.CLONE_NEWUSER|unix.CLONE_NEWNS),
		world("a user and processes", unix.CLONE_NEWUSER|unix.CLONE_NEWPID),
		// Without the rights of root these are refused everywhere: they are here for those who
		// have an idea how to get such rights in a sandbox.
		reached(closed("mount", func() error { return unix.Mount("none", "/", "tmpfs", 0, "") }), unix.EPERM),
		reached(closed("root", func() error { return unix.Chroot("/") }), unix.EPERM),
		reached(closed("new mount", func() error { _, err := unix.Fsopen("tmpfs", 0); return err }), unix.EPERM),
		maybe(closed("bpf", func() error { return call(unix.SYS_BPF, 0, 0, 0) })),
		maybe(closed("faults", func() error {
			const userModeOnly = 1
			fd, _, errno := unix.RawSyscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|userModeOnly, 0, 0)
			if errno != 0 {
				return errno
			}
			return unix.Close(int(fd))
		})),
		maybe(closed("log", func() error { return call(unix.SYS_SYSLOG, 10, 0, 0) })),
		{name: "kernel: clone3", inside: errnos(unix.ENOSYS), reached: errnos(unix.EINVAL), try: func(*scene) error { return call(unix.SYS_CLONE3, 0, 0) }},
	}
	return append(all, foreignAttacks()...)
}

// int80In asks a process of its own, since it dies where the kernel does not know such calls.
func int80In(*scene) error {
	out, err := exec.Command(os.Args[0], act+"int80").Output()
	if err != nil {
		return err
	}
	result, err := strconv.Atoi(strings.TrimSpace(string(out)))
	switch {
	case err != nil:
		return err
	case result < 0:
		return syscall.Errno(-result)
	case result == 0:
		return errors.New("no process number")
	}
	return nil
}
