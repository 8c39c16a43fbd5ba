package landlock_test

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func signalAttacks() []attack {
	denied := errnos(unix.EPERM)
	signal := func(name string, try func(s *scene) error) attack {
		return attack{name: "signal: " + name, inside: denied, try: try}
	}
	// A signal that says who sent it.
	queued := func() *[128]byte {
		var info [128]byte
		*(*int32)(unsafe.Pointer(&info[8])) = -1 // SI_QUEUE
		return &info
	}
	first := signal("first process", func(*scene) error { return unix.Kill(1, 0) })
	first.optional = true // it is root's
	return []attack{
		first,
		signal("supervisor", func(s *scene) error { return unix.Kill(s.Supervisor, 0) }),
		signal("perstack", func(s *scene) error { return unix.Kill(s.Tester, 0) }),
		signal("victim", func(s *scene) error { return unix.Kill(s.Victim, 0) }),
		signal("victim's group", func(s *scene) error { return unix.Kill(-s.Victim, 0) }),
		signal("victim's thread", func(s *scene) error { return unix.Tgkill(s.Victim, s.Victim, 0) }),
		signal("victim's thread alone", func(s *scene) error { return call(unix.SYS_TKILL, uintptr(s.Victim), 0) }),
		signal("victim by descriptor", func(s *scene) error {
			return withPidfd(s.Victim, func(fd int) error { return unix.PidfdSendSignal(fd, 0, nil, 0) })
		}),
		signal("victim by queue", func(s *scene) error {
			return call(unix.SYS_RT_SIGQUEUEINFO, uintptr(s.Victim), 0, uintptr(unsafe.Pointer(queued())))
		}),
		signal("victim's thread by queue", func(s *scene) error {
			return call(unix.SYS_RT_TGSIGQUEUEINFO, uintptr(s.Victim), uintptr(s.Victim), 0, uintptr(unsafe.Pointer(queued())))
		}),
		// Whether it arrived, the victim says.
		{name: asyncSignal, try: func(s *scene) error {
			var ends [2]int
			if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
				return err
			}
			_, ownErr := unix.FcntlInt(uintptr(ends[0]), unix.F_SETOWN, s.Victim)
			_, asyncErr := unix.FcntlInt(uintptr(ends[0]), unix.F_SETFL, unix.O_ASYNC)
			_, err := unix.Write(ends[1], []byte("x"))
			return errors.Join(ownErr, asyncErr, err)
		}},
		{name: "signal: own child", try: func(*scene) error {
			child := exec.Command("/bin/cat")
			in, err := child.StdinPipe()
			if err == nil {
				err = child.Start()
			}
			if err != nil {
				return err
			}
			defer in.Close()
			err = child.Process.Kill()
			_ = child.Wait() // killed
			return err
		}},
	}
}

const asyncSignal = "signal: victim by a pipe"

func withPidfd(pid int, use func(fd int) error) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return use(fd)
}

func processAttacks() []attack {
	on := func(name string, try func(s *scene) error) attack {
		return attack{name: "process: " + name, inside: errnos(unix.EPERM), try: try}
	}
	maybe := func(a attack) attack { a.optional = true; return a }
	limits := func(pid int) error {
		var now unix.Rlimit
		if err := call(unix.SYS_PRLIMIT64, uintptr(pid), unix.RLIMIT_CPU, 0, uintptr(unsafe.Pointer(&now))); err != nil {
			return err
		}
		return call(unix.SYS_PRLIMIT64, uintptr(pid), unix.RLIMIT_CPU, uintptr(unsafe.Pointer(&now)), 0)
	}
	processors := func(pid int) error {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(pid, &set); err != nil {
			return err
		}
		return unix.SchedSetaffinity(pid, &set)
	}
	priority := func(pid int) error {
		now, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
		if err != nil {
			return err
		}
		return unix.Setpriority(unix.PRIO_PROCESS, pid, 20-now) // the call adds 20
	}
	return []attack{
		on("trace", trace),
		on("read memory", func(s *scene) error {
			into := make([]byte, 8)
			_, err := unix.ProcessVMReadv(s.Victim, []unix.Iovec{{Base: &into[0], Len: 8}}, []unix.RemoteIovec{{Base: uintptr(s.Address), Len: 8}}, 0)
			return err
		}),
		on("write memory", func(s *scene) error {
			from := make([]byte, 8)
			_, err := unix.ProcessVMWritev(s.Victim, []unix.Iovec{{Base: &from[0], Len: 8}}, []unix.RemoteIovec{{Base: uintptr(s.Address), Len: 8}}, 0)
			return err
		}),
		on("take a descriptor", func(s *scene) error {
			return withPidfd(s.Victim, func(fd int) error {
				got, err := unix.PidfdGetfd(fd, 0, 0)
				if err == nil {
					unix.Close(got)
				}
				return err
			})
		}),
		on("compare", func(s *scene) error {
			const virtualMemory = 1 // KCMP_VM
			return call(unix.SYS_KCMP, uintptr(s.Victim), uintptr(os.Getpid()), virtualMemory, 0, 0)
		}),
		on("robust list", func(s *scene) error {
			var head, size uintptr
			return call(unix.SYS_GET_ROBUST_LIST, uintptr(s.Victim), uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&size)))
		}),
		{name: "process: advise", inside: errnos(unix.EACCES), optional: true, try: func(s *scene) error {
			return withPidfd(s.Victim, func(fd int) error {
				page := unix.RemoteIovec{Base: uintptr(s.Address) &^ 4095, Len: 4096}
				return call(unix.SYS_PROCESS_MADVISE, uintptr(fd), uintptr(unsafe.Pointer(&page)), 1, unix.MADV_COLD, 0)
			})
		}},
		maybe(on("count events", func(s *scene) error {
			attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
			fd, err := unix.PerfEventOpen(&attr, s.Victim, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
			if err == nil {
				unix.Close(fd)
			}
			return err
		})),
		on("limits", func(s *scene) error { return limits(s.Victim) }),
		{name: "process: own limits", try: func(*scene) error { return limits(0) }},
		on("processors", func(s *scene) error { return processors(s.Victim) }),
		{name: "process: own processors", try: func(*scene) error { return processors(0) }},
		on("scheduler", func(s *scene) error {
			var param int32
			return call(unix.SYS_SCHED_SETSCHEDULER, uintptr(s.Victim), 0, uintptr(unsafe.Pointer(&param)))
		}),
		on("scheduler's parameters", func(s *scene) error {
			var param int32
			return call(unix.SYS_SCHED_SETPARAM, uintptr(s.Victim), uintptr(unsafe.Pointer(&param)))
		}),
		on("scheduler's attributes", func(s *scene) error {
			attr, err := unix.SchedGetAttr(s.Victim, 0)
			if err != nil {
				return err
			}
			return unix.SchedSetAttr(s.Victim, attr, 0)
		}),
		on("priority", func(s *scene) error { return priority(s.Victim) }),
		{name: "process: own priority", try: func(*scene) error { return priority(0) }},
		ofUser("priority", func(user int) error { return unix.Setpriority(unix.PRIO_USER, user, 19) }),
		on("disk priority", func(s *scene) error { return call(unix.SYS_IOPRIO_SET, 1, uintptr(s.Victim), 2<<13|4) }),
		ofUser("disk priority", func(user int) error { return call(unix.SYS_IOPRIO_SET, 3, uintptr(user), 2<<13|4) }),
		maybe(on("pages", func(s *scene) error {
			var nodes uint64 = 1
			return call(unix.SYS_MIGRATE_PAGES, uintptr(s.Victim), 64, uintptr(unsafe.Pointer(&nodes)), uintptr(unsafe.Pointer(&nodes)))
		})),
		{name: "process: gain rights", try: noNewRights},
	}
}

// ofUser is an attack on all processes of a user. It is tried on one who has none, since it
// would hit everybody else of ours.
func ofUser(name string, try func(user int) error) attack {
	return attack{
		name: "process: " + name + " of a user", inside: errnos(unix.EPERM), reached: errnos(unix.ESRCH),
		try: func(*scene) error { return try(2_111_222_333) },
	}
}

// trace stops the victim for a moment.
func trace(s *scene) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(s.Victim)); err != nil {
		return err
	}
	if err := call(unix.SYS_PTRACE, unix.PTRACE_INTERRUPT, uintptr(s.Victim)); err != nil {
		return err
	}
	if _, err := unix.Wait4(s.Victim, nil, unix.WALL, nil); err != nil {
		return err
	}
	return syscall.PtraceDetach(s.Victim)
}

// noNewRights holds in a sandbox and outside: set-user-ID programs give no rights.
func noNewRights(*scene) error {
	on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && on != 1 {
		err = errors.New("no_new_privs is " + strconv.Itoa(on))
	}
	return err
}
