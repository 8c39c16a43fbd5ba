//go:build linux && (amd64 || arm64)

package cell

import "golang.org/x/sys/unix"

// rules are what a program in a cell may not do. Everything else it may. Each rule stands
// for a way out of a cell that works without it; the tests try them all.
func rules() []rule {
	var all []rule
	for _, some := range [][]rule{socketRules(), neighbourRules(), fileRules(), kernelRules()} {
		all = append(all, some...)
	}
	return all
}

// socketRules leave TCP sockets and no others, since Landlock looks at TCP alone.
// Datagrams would carry names and data to anybody; MPTCP and SCTP make streams beside TCP;
// sockets with names lead to whoever listens on this machine (the container engine, the
// desktop, the agent that holds keys). Of what the kernel says, the addresses of this
// machine can be read, which Node asks for; who else has sockets cannot.
func socketRules() []rule {
	const kinds = 0xf // of a socket's type; the rest are flags
	stream, packets := test{arg: 1, mask: kinds, want: unix.SOCK_STREAM}, test{arg: 1, mask: kinds, want: unix.SOCK_SEQPACKET}
	return []rule{
		{unix.SYS_SOCKET, unix.EACCES, [][]test{
			{is(0, unix.AF_INET), stream, is(2, 0)}, {is(0, unix.AF_INET), stream, is(2, unix.IPPROTO_TCP)},
			{is(0, unix.AF_INET6), stream, is(2, 0)}, {is(0, unix.AF_INET6), stream, is(2, unix.IPPROTO_TCP)},
			{is(0, unix.AF_NETLINK), is(2, unix.NETLINK_ROUTE)},
		}},
		// Of a pair, one end can be turned to another address if it sends datagrams: to the
		// sockets with names, again.
		{unix.SYS_SOCKETPAIR, unix.EACCES, [][]test{{is(0, unix.AF_UNIX), stream}, {is(0, unix.AF_UNIX), packets}}},
		// The first data can open a connection (TCP Fast Open), and nobody asks Landlock.
		{unix.SYS_SENDTO, unix.EACCES, [][]test{{without(3, unix.MSG_FASTOPEN)}}},
		{unix.SYS_SENDMSG, unix.EACCES, [][]test{{without(2, unix.MSG_FASTOPEN)}}},
		{unix.SYS_SENDMMSG, unix.EACCES, [][]test{{without(3, unix.MSG_FASTOPEN)}}},
		// Who listens without having asked for a port gets one, and nobody asks Landlock.
		{unix.SYS_LISTEN, unix.EACCES, nil},
		// Another protocol can be put upon TCP, and the socket is none of TCP any more (SMC).
		{unix.SYS_SETSOCKOPT, unix.ENOENT, [][]test{{isNot(1, unix.IPPROTO_TCP)}, {isNot(2, unix.TCP_ULP)}}},
		// It makes sockets and connections without the calls that are looked at here.
		{unix.SYS_IO_URING_SETUP, unix.ENOSYS, nil},
	}
}

// neighbourRules are about the other processes of the same user.
func neighbourRules() (all []rule) {
	const whoProcess = 1 // of ioprio_set
	// By these, processes of one user can starve each other, or kill (by a limit of no
	// time). With 0, a process means itself.
	all = each([]uint32{
		unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR,
		unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
	}, unix.EPERM, [][]test{{is(0, 0)}})
	all = append(all,
		rule{unix.SYS_SETPRIORITY, unix.EPERM, [][]test{{is(0, unix.PRIO_PROCESS), is(1, 0)}}},
		rule{unix.SYS_IOPRIO_SET, unix.EPERM, [][]test{{is(0, whoProcess), is(1, 0)}}},
	)
	// What others of the same user find by a number or a name: keys, memory, queues.
	return append(all, never(unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL,
		unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
		unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
		unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK)...)
}

// fileRules are about files that are out of reach, or may only be read.
func fileRules() []rule {
	const (
		setDelegation = unix.F_SETLEASE + 16
		command       = 0xff00     // of an ioctl: to which part of the kernel it belongs
		dedupe        = 0xc0189436 // FIDEDUPERANGE
		extents       = 0xc020660b // FS_IOC_FIEMAP
		flags         = 0x80086601 // FS_IOC_GETFLAGS
	)
	other := func(kind uint32) test { return test{arg: 1, mask: command, want: kind << 8, not: true} }
	// What is done to a directory is told with the names in it, to whoever may read it
	// outside of the cell: the directories of other cells are kept by having names that
	// nobody knows.
	all := append(missing(watchers()...), never(unix.SYS_FANOTIFY_INIT)...)
	// Attributes, flags and much more that file systems have commands for, Landlock does not
	// see: a file that may only be read could be sealed for ever, a directory get a new one
	// (a subvolume of btrfs). As on a disk that has none of it. What copies between files
	// that are open for it, or only tells, stays.
	all = append(all, rule{unix.SYS_IOCTL, unix.ENOTTY, [][]test{
		{other('f'), other('v'), other('X'), other('r'), other(0x94), other(0xf5)}, // ext4 and all, btrfs, f2fs
		{is(1, unix.FICLONE)}, {is(1, unix.FICLONERANGE)}, {is(1, dedupe)}, {is(1, extents)}, {is(1, flags)},
	}})
	// Who has a lease on a file lets everybody else wait who opens it, by default for 45
	// seconds, also by one that may only be read.
	all = append(all, rule{unix.SYS_FCNTL, unix.EINVAL, [][]test{{isNot(1, unix.F_SETLEASE), isNot(1, unix.F_NOTIFY), isNot(1, setDelegation)}}})
	// Nor does it see modes. Whoever runs a program that is set to another user becomes that
	// user: none of the user's files may be made so, which a skill could do to those that it
	// cannot even read.
	const setUser = unix.S_ISUID | unix.S_ISGID
	all = append(all, each(modeByPath(), unix.EPERM, [][]test{{without(1, setUser)}})...)
	all = append(all, each([]uint32{unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2}, unix.EPERM, [][]test{{without(2, setUser)}})...)
	return append(all, each([]uint32{
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
	}, unix.EOPNOTSUPP, nil)...)
}

// kernelRules close parts of the kernel that no skill needs and attackers like.
func kernelRules() []rule {
	// namespaces are the flags by which a process gets a world of its own, in which it
	// could be root. Threads and ordinary processes have none of them.
	const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	all := never(unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_SYSLOG)
	return append(all,
		rule{unix.SYS_CLONE, unix.EPERM, [][]test{{without(0, namespaces)}}},
		// What it is asked for is out of sight of a filter, so programs have to use clone.
		rule{unix.SYS_CLONE3, unix.ENOSYS, nil},
	)
}
