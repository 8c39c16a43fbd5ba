//go:build linux && (amd64 || arm64)

package landlock

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// A call is what the kernel shows to a filter.
type call struct {
	arch, number uint32
	args         [6]uint64
}

// word is what the kernel finds at an offset of struct seccomp_data.
func (c call) word(offset uint32) (uint32, error) {
	switch {
	case offset == offsetCall:
		return c.number, nil
	case offset == offsetArch:
		return c.arch, nil
	case offset >= offsetArgs && offset < offsetArgs+6*8 && offset%4 == 0:
		arg := c.args[(offset-offsetArgs)/8]
		if offset%8 != 0 {
			arg >>= 32
		}
		return uint32(arg), nil
	}
	return 0, fmt.Errorf("load from %d", offset)
}

// decide runs a filter as the kernel does. What the kernel would not take is an error.
func decide(code []unix.SockFilter, c call) (uint32, error) {
	var a uint32
	for pc := 0; pc < len(code); pc++ {
		i := code[pc]
		var err error
		switch i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a, err = c.word(i.K)
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= i.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			pc += jump(i, a == i.K)
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			pc += jump(i, a >= i.K)
		case unix.BPF_RET | unix.BPF_K:
			return i.K, nil
		default:
			err = fmt.Errorf("instruction %#x", i.Code)
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("no end")
}

func jump(i unix.SockFilter, holds bool) int {
	if holds {
		return int(i.Jt)
	}
	return int(i.Jf)
}

// own is a call of this architecture.
func own(number uint32, args ...uint64) call {
	c := call{arch: arch, number: number}
	copy(c.args[:], args)
	return c
}

const high = 1 << 32 // of what the kernel does not look at

func TestFilterDecisions(t *testing.T) {
	const cloexec = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	tests := []struct {
		name string
		call call
		want unix.Errno // 0 if it may be made
	}{
		{"TCP", own(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM|cloexec, 0), 0},
		{"TCP by number", own(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_TCP), 0},
		{"TCP 6", own(unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM|cloexec, 0), 0},
		{"TCP 6 by number", own(unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_TCP), 0},
		{"addresses of the machine", own(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW|cloexec, unix.NETLINK_ROUTE), 0},
		{"sockets of the machine", own(unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_SOCK_DIAG), unix.EACCES},
		{"MPTCP", own(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP), unix.EACCES},
		{"MPTCP 6", own(unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM, unix.IPPROTO_MPTCP), unix.EACCES},
		{"SCTP", own(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP), unix.EACCES},
		{"UDP", own(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM, 0), unix.EACCES},
		{"UDP 6 with flags", own(unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_DGRAM|cloexec, 0), unix.EACCES},
		{"raw", own(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP), unix.EACCES},
		{"packets", own(unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_STREAM, 0), unix.EACCES},
		{"a name", own(unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM, 0), unix.EACCES},
		{"a family with more bits", own(unix.SYS_SOCKET, high|unix.AF_UNIX, unix.SOCK_STREAM, 0), unix.EACCES},
		{"SMC", own(unix.SYS_SOCKET, unix.AF_SMC, unix.SOCK_STREAM, 0), unix.EACCES},
		{"vsock", own(unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM, 0), unix.EACCES},
		{"ciphers", own(unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET, 0), unix.EACCES},
		{"a pair of streams", own(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_STREAM|cloexec, 0), 0},
		{"a pair of packets", own(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_SEQPACKET, 0), 0},
		{"a pair of datagrams", own(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_DGRAM|cloexec, 0), unix.EACCES},
		{"a raw pair", own(unix.SYS_SOCKETPAIR, unix.AF_UNIX, unix.SOCK_RAW, 0), unix.EACCES},
		{"a pair of TIPC", own(unix.SYS_SOCKETPAIR, unix.AF_TIPC, unix.SOCK_STREAM, 0), unix.EACCES},
		{"send", own(unix.SYS_SENDTO, 3, 0, 0, unix.MSG_NOSIGNAL), 0},
		{"Fast Open by sendto", own(unix.SYS_SENDTO, 3, 0, 0, unix.MSG_NOSIGNAL|unix.MSG_FASTOPEN), unix.EACCES},
		{"sendmsg", own(unix.SYS_SENDMSG, 3, 0, unix.MSG_NOSIGNAL), 0},
		{"Fast Open by sendmsg", own(unix.SYS_SENDMSG, 3, 0, unix.MSG_FASTOPEN), unix.EACCES},
		{"sendmmsg", own(unix.SYS_SENDMMSG, 3, 0, 1, 0), 0},
		{"Fast Open by sendmmsg", own(unix.SYS_SENDMMSG, 3, 0, 1, unix.MSG_FASTOPEN), unix.EACCES},
		{"listen", own(unix.SYS_LISTEN, 3, 1), unix.EACCES},
		{"no delay", own(unix.SYS_SETSOCKOPT, 3, unix.IPPROTO_TCP, unix.TCP_NODELAY), 0},
		{"the same number elsewhere", own(unix.SYS_SETSOCKOPT, 3, unix.SOL_SOCKET, unix.TCP_ULP), 0},
		{"a protocol upon TCP", own(unix.SYS_SETSOCKOPT, 3, unix.IPPROTO_TCP, unix.TCP_ULP), unix.ENOENT},
		{"io_uring", own(unix.SYS_IO_URING_SETUP), unix.ENOSYS},

		{"own limits", own(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_CPU), 0},
		{"limits of another", own(unix.SYS_PRLIMIT64, 7, unix.RLIMIT_CPU), unix.EPERM},
		{"own processors", own(unix.SYS_SCHED_SETAFFINITY, 0), 0},
		{"processors of another", own(unix.SYS_SCHED_SETAFFINITY, 7), unix.EPERM},
		{"scheduler of another", own(unix.SYS_SCHED_SETSCHEDULER, 7), unix.EPERM},
		{"parameters of another", own(unix.SYS_SCHED_SETPARAM, 7), unix.EPERM},
		{"attributes of another", own(unix.SYS_SCHED_SETATTR, 7), unix.EPERM},
		{"pages of another", own(unix.SYS_MIGRATE_PAGES, 7), unix.EPERM},
		{"moving pages of another", own(unix.SYS_MOVE_PAGES, 7), unix.EPERM},
		{"own priority", own(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, 5), 0},
		{"priority of another", own(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 7, 5), unix.EPERM},
		{"priority of a user", own(unix.SYS_SETPRIORITY, unix.PRIO_USER, 0, 5), unix.EPERM},
		{"priority of a group", own(unix.SYS_SETPRIORITY, unix.PRIO_PGRP, 0, 5), unix.EPERM},
		{"own disk priority", own(unix.SYS_IOPRIO_SET, 1, 0), 0},
		{"disk priority of another", own(unix.SYS_IOPRIO_SET, 1, 7), unix.EPERM},
		{"disk priority of a user", own(unix.SYS_IOPRIO_SET, 3, 0), unix.EPERM},
		{"keys", own(unix.SYS_KEYCTL), unix.EPERM},
		{"shared memory", own(unix.SYS_SHMGET), unix.EPERM},
		{"queues", own(unix.SYS_MSGGET), unix.EPERM},
		{"semaphores", own(unix.SYS_SEMGET), unix.EPERM},
		{"named queues", own(unix.SYS_MQ_OPEN), unix.EPERM},

		{"watching", own(unix.SYS_INOTIFY_INIT1), unix.ENOSYS},
		{"watching all", own(unix.SYS_FANOTIFY_INIT), unix.EPERM},
		{"attributes", own(unix.SYS_SETXATTR), unix.EOPNOTSUPP},
		{"flags", own(unix.SYS_IOCTL, 3, unix.FS_IOC_SETFLAGS), unix.ENOTTY},
		{"extended flags", own(unix.SYS_IOCTL, 3, 0x401c5820), unix.ENOTTY},
		{"sealing", own(unix.SYS_IOCTL, 3, high|unix.FS_IOC_ENABLE_VERITY), unix.ENOTTY},
		{"reading flags", own(unix.SYS_IOCTL, 3, unix.FS_IOC_GETFLAGS), 0},
		{"terminal", own(unix.SYS_IOCTL, 3, unix.TCGETS), 0},
		{"reading attributes", own(unix.SYS_GETXATTR), 0},

		{"a thread", own(unix.SYS_CLONE, unix.CLONE_VM|unix.CLONE_FS|unix.CLONE_FILES|unix.CLONE_SIGHAND|unix.CLONE_THREAD|unix.CLONE_SYSVSEM|unix.CLONE_SETTLS), 0},
		{"a process", own(unix.SYS_CLONE, uint64(unix.SIGCHLD)|unix.CLONE_CHILD_SETTID), 0},
		{"a user of its own", own(unix.SYS_CLONE, uint64(unix.SIGCHLD)|unix.CLONE_NEWUSER), unix.EPERM},
		{"a network of its own", own(unix.SYS_CLONE, uint64(unix.SIGCHLD)|unix.CLONE_NEWNET), unix.EPERM},
		{"clone3", own(unix.SYS_CLONE3), unix.ENOSYS},
		{"unshare", own(unix.SYS_UNSHARE, unix.CLONE_NEWUSER), unix.EPERM},
		{"setns", own(unix.SYS_SETNS), unix.EPERM},
		{"bpf", own(unix.SYS_BPF), unix.EPERM},
		{"kernel log", own(unix.SYS_SYSLOG), unix.EPERM},

		{"read", own(unix.SYS_READ), 0},
		{"connect", own(unix.SYS_CONNECT), 0},
		{"execve", own(unix.SYS_EXECVE), 0},
		{"no call", own(unix.SYS_RESTART_SYSCALL), 0},
		{"another architecture", call{arch: unix.AUDIT_ARCH_I386, number: unix.SYS_READ}, unix.EPERM},
		{"the other byte order", call{arch: arch &^ 0x4000_0000, number: unix.SYS_READ}, unix.EPERM},
	}
	code := compile(rules())
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			expect(t, code, tt.call, tt.want)
			if tt.want == 0 || tt.call.arch != arch {
				return
			}
			// Without its rule, the call would be made: it is this rule that forbids it.
			others := slices.DeleteFunc(rules(), func(r rule) bool { return r.call == tt.call.number })
			expect(t, compile(others), tt.call, 0)
		})
	}
}

// A program that is to change nothing does not change modes, owners and times, either.
func TestStillFilter(t *testing.T) {
	code := compile(metadataRules())
	for _, number := range append(modeByPath(), unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT) {
		expect(t, code, own(number, 0, 0o644, 0o644), unix.EROFS)
	}
	expect(t, code, own(unix.SYS_OPENAT), 0)
}

func expect(t *testing.T, code []unix.SockFilter, c call, want unix.Errno) {
	t.Helper()
	action := uint32(unix.SECCOMP_RET_ALLOW)
	if want != 0 {
		action = unix.SECCOMP_RET_ERRNO | uint32(want)
	}
	if got, err := decide(code, c); err != nil || got != action {
		t.Errorf("%+v: action %#x, %v; want %#x", c, got, err, action)
	}
}

// Every call that has no rule is left alone; every call that has one is stopped in some
// case; and no call has two rules, of which the second would never be asked.
func TestFilterKnowsItsCalls(t *testing.T) {
	code, known := compile(rules()), map[uint32]bool{}
	for _, r := range rules() {
		if known[r.call] {
			t.Errorf("two rules for call %d", r.call)
		}
		known[r.call] = true
		stopped := false
		for _, args := range [][]uint64{{}, {99, 99, 99, 99}, {3, unix.IPPROTO_TCP, unix.TCP_ULP}, {3, unix.FS_IOC_SETFLAGS}, {3, unix.F_SETLEASE}, {^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}} {
			got, err := decide(code, own(r.call, args...))
			if err != nil {
				t.Fatal(err)
			}
			stopped = stopped || got == unix.SECCOMP_RET_ERRNO|uint32(r.errno)
		}
		if !stopped {
			t.Errorf("nothing stops call %d", r.call)
		}
	}
	for number := range uint32(600) {
		if !known[number] {
			expect(t, code, own(number, 99, 99, 99, 99, 99, 99), 0)
		}
		if foreign != 0 {
			expect(t, code, own(foreign+number), unix.EPERM)
		}
	}
	if foreign != 0 {
		expect(t, code, own(^uint32(0)), unix.EPERM)
	}
}

// What the compiler jumps over fits into the byte that a jump has.
func TestFilterJumps(t *testing.T) {
	code := compile(rules())
	if len(code) > unix.BPF_MAXINSNS {
		t.Errorf("%d instructions", len(code))
	}
	for pc, i := range code {
		if i.Code&7 == unix.BPF_JMP && pc+1+int(max(i.Jt, i.Jf)) >= len(code) {
			t.Errorf("instruction %d jumps out of the filter", pc)
		}
	}
	for _, r := range rules() {
		length := 1
		for _, tests := range r.allow {
			length += 3*len(tests) + 1
		}
		if length > 255 {
			t.Errorf("the rule for call %d is too long to be jumped over: %d", r.call, length)
		}
	}
}
