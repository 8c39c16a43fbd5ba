//go:build linux && (amd64 || arm64)

package landlock

import (
	"slices"

	"golang.org/x/sys/unix"
)

// rules are what a confined program may not do; everything else is allowed. Without its
// rule, each of these calls is a way out of the sandbox; the tests try them all.
func rules() []rule {
	return slices.Concat(socketRules(), processRules(), keyRules(), sharedRules(), watchRules(), handleRules(), leaseRules(), modeRules(), attributeRules(), kernelRules())
}

// insideRules are the rules for a program in namespaces of its own, which has a network, other
// processes and shared memory to itself. Mounts are what protects files there, so the calls
// that change mounts fail even without the capability that they need.
func insideRules() []rule {
	return slices.Concat(insideSocketRules(), processRules(), keyRules(), handleRules(), leaseRules(), modeRules(), kernelRules(), never(
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
		unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	))
}

// insideSocketRules allow the internet and Unix sockets. Other families reach parts of the
// kernel that no tool needs.
func insideSocketRules() []rule {
	families := [][]test{{is(0, unix.AF_INET)}, {is(0, unix.AF_INET6)}, {is(0, unix.AF_UNIX)}, {is(0, unix.AF_NETLINK), is(2, unix.NETLINK_ROUTE)}}
	return []rule{
		{unix.SYS_SOCKET, unix.EACCES, families},
		{unix.SYS_SOCKETPAIR, unix.EACCES, [][]test{{is(0, unix.AF_UNIX)}}},
		{unix.SYS_SETSOCKOPT, unix.ENOENT, [][]test{{isNot(1, unix.IPPROTO_TCP)}, {isNot(2, unix.TCP_ULP)}}},
		{unix.SYS_IO_URING_SETUP, unix.ENOSYS, nil},
	}
}

// socketRules allow TCP sockets and no others, since Landlock covers TCP alone. Datagrams
// can carry data and DNS queries anywhere; MPTCP and SCTP are streams that are not TCP;
// Unix sockets lead to servers on this machine (the container daemon, the desktop, an
// agent that holds keys). Netlink can read the addresses of this machine, which Node asks
// for, and not the sockets of other processes.
func socketRules() []rule {
	const kinds = 0xf // of a socket's type; the rest are flags
	stream, packets := test{arg: 1, mask: kinds, want: unix.SOCK_STREAM}, test{arg: 1, mask: kinds, want: unix.SOCK_SEQPACKET}
	return []rule{
		{unix.SYS_SOCKET, unix.EACCES, [][]test{
			{is(0, unix.AF_INET), stream, is(2, 0)}, {is(0, unix.AF_INET), stream, is(2, unix.IPPROTO_TCP)},
			{is(0, unix.AF_INET6), stream, is(2, 0)}, {is(0, unix.AF_INET6), stream, is(2, unix.IPPROTO_TCP)},
			{is(0, unix.AF_NETLINK), is(2, unix.NETLINK_ROUTE)},
		}},
		// One end of a datagram pair can be connected to another address, such as a Unix
		// socket with a name.
		{unix.SYS_SOCKETPAIR, unix.EACCES, [][]test{{is(0, unix.AF_UNIX), stream}, {is(0, unix.AF_UNIX), packets}}},
		// Sending data can open a connection (TCP Fast Open), which Landlock does not check.
		{unix.SYS_SENDTO, unix.EACCES, [][]test{{without(3, unix.MSG_FASTOPEN)}}},
		{unix.SYS_SENDMSG, unix.EACCES, [][]test{{without(2, unix.MSG_FASTOPEN)}}},
		{unix.SYS_SENDMMSG, unix.EACCES, [][]test{{without(3, unix.MSG_FASTOPEN)}}},
		// Listening without bind assigns a port, which Landlock does not check.
		{unix.SYS_LISTEN, unix.EACCES, nil},
		// An upper-layer protocol (SMC) turns a TCP socket into another kind.
		{unix.SYS_SETSOCKOPT, unix.ENOENT, [][]test{{isNot(1, unix.IPPROTO_TCP)}, {isNot(2, unix.TCP_ULP)}}},
		// It creates sockets and connections without the calls that are filtered here.
		{unix.SYS_IO_URING_SETUP, unix.ENOSYS, nil},
	}
}

// processRules are about the other processes of the same user.
func processRules() (all []rule) {
	const whoProcess = 1 // of ioprio_set
	// With these, processes of one user can starve each other, or kill each other by a limit
	// of zero CPU time. The pid 0 means the caller itself.
	all = each([]uint32{
		unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR,
		unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES,
	}, unix.EPERM, [][]test{{is(0, 0)}})
	return append(all,
		rule{unix.SYS_SETPRIORITY, unix.EPERM, [][]test{{is(0, unix.PRIO_PROCESS), is(1, 0)}}},
		rule{unix.SYS_IOPRIO_SET, unix.EPERM, [][]test{{is(0, whoProcess), is(1, 0)}}},
	)
}

// keyRules are about keys in the kernel, which all processes of the user share.
func keyRules() []rule { return never(unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY) }

// sharedRules are about shared memory and queues that other processes of the user find by a
// number or a name.
func sharedRules() []rule {
	return never(unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL,
		unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
		unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL,
		unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK)
}

// watchRules are about notifications. Those about a directory tell the names in it, including
// directories outside of the policy. The directories of other skills are protected by names
// that cannot be guessed.
func watchRules() []rule { return missing(watchers()...) }

// handleRules are about files that a policy allows to read only. Landlock does not cover the
// ioctl commands of file systems: attributes, flags and more. With them a read-only file could
// be made immutable, or a btrfs subvolume be created. They fail as on a file system without
// them. Commands that copy between open files, or only report, are allowed.
func handleRules() []rule {
	const (
		command = 0xff00     // of an ioctl: to which part of the kernel it belongs
		dedupe  = 0xc0189436 // FIDEDUPERANGE
		extents = 0xc020660b // FS_IOC_FIEMAP
		flags   = 0x80086601 // FS_IOC_GETFLAGS
	)
	other := func(kind uint32) test { return test{arg: 1, mask: command, want: kind << 8, not: true} }
	return append(never(unix.SYS_FANOTIFY_INIT), rule{unix.SYS_IOCTL, unix.ENOTTY, [][]test{
		{other('f'), other('v'), other('X'), other('r'), other(0x94), other(0xf5)}, // ext4 and all, btrfs, f2fs
		{is(1, unix.FICLONE)}, {is(1, unix.FICLONERANGE)}, {is(1, dedupe)}, {is(1, extents)}, {is(1, flags)},
	}})
}

// leaseRules are about leases. A lease on a file makes other processes wait when they open it,
// by default for 45 seconds. A descriptor for reading is enough to take one.
func leaseRules() []rule {
	const setDelegation = unix.F_SETLEASE + 16
	return []rule{{unix.SYS_FCNTL, unix.EINVAL, [][]test{{isNot(1, unix.F_SETLEASE), isNot(1, unix.F_NOTIFY), isNot(1, setDelegation)}}}}
}

// modeRules are about modes, which Landlock does not cover. A set-user-ID program runs as its
// owner, so a skill could make any file of the user such a program, including files that it
// cannot read.
func modeRules() []rule {
	const setUser = unix.S_ISUID | unix.S_ISGID
	all := each(modeByPath(), unix.EPERM, [][]test{{without(1, setUser)}})
	return append(all, each([]uint32{unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2}, unix.EPERM, [][]test{{without(2, setUser)}})...)
}

// metadataRules are about modes, owners and times. They fail as in a directory that is mounted read-only.
func metadataRules() []rule {
	calls := slices.Concat(modeByPath(), ownersAndTimes(), []uint32{unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT})
	return each(calls, unix.EROFS, nil)
}

// attributeRules are about extended attributes, which Landlock does not cover either.
func attributeRules() []rule {
	return each([]uint32{
		unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_SETXATTRAT,
		unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
	}, unix.EOPNOTSUPP, nil)
}

// kernelRules block parts of the kernel that no skill needs and that attackers use.
func kernelRules() []rule {
	// namespaces are the flags that give a process namespaces of its own, in which it could
	// be root. Threads and ordinary processes are started without them.
	const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	all := never(unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_SYSLOG)
	return append(all,
		rule{unix.SYS_CLONE, unix.EPERM, [][]test{{without(0, namespaces)}}},
		// A filter cannot see its arguments, so programs have to use clone.
		rule{unix.SYS_CLONE3, unix.ENOSYS, nil},
	)
}
