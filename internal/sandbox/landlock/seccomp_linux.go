package landlock

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file filters the system calls of a confined program, for what Landlock does not
// cover. rules_linux.go lists the calls.

// A rule allows a system call when all tests of one of its lists hold. Otherwise the call
// fails with errno.
type rule struct {
	call  uint32
	errno unix.Errno
	allow [][]test
}

// A test compares the masked bits of an argument. Only the lower half of an argument is
// compared: the kernel uses no more of it in any of these calls.
type test struct {
	arg, mask, want uint32
	not             bool // it must be something else
}

func is(arg, want uint32) test       { return test{arg, ^uint32(0), want, false} }
func isNot(arg, other uint32) test   { return test{arg, ^uint32(0), other, true} }
func without(arg, bits uint32) test  { return test{arg, bits, 0, false} }
func never(calls ...uint32) []rule   { return each(calls, unix.EPERM, nil) }
func missing(calls ...uint32) []rule { return each(calls, unix.ENOSYS, nil) } // programs then do without

func each(calls []uint32, errno unix.Errno, allow [][]test) (rules []rule) {
	for _, call := range calls {
		rules = append(rules, rule{call, errno, allow})
	}
	return rules
}

// Offsets in what the kernel passes to a filter (struct seccomp_data).
const (
	offsetCall = 0
	offsetArch = 4
	offsetArgs = 16
)

// compile returns the filter as a BPF program.
func compile(rules []rule) []unix.SockFilter {
	var (
		load = func(offset uint32) unix.SockFilter {
			return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
		}
		end = func(action uint32) unix.SockFilter {
			return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
		}
		fail  = func(e unix.Errno) unix.SockFilter { return end(unix.SECCOMP_RET_ERRNO | uint32(e)) }
		equal = func(k uint32, otherwise int) unix.SockFilter {
			return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jf: uint8(otherwise)}
		}
	)
	// The numbers have other meanings on another architecture, so its calls all fail.
	code := []unix.SockFilter{load(offsetArch), {Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: arch, Jt: 1}, fail(unix.EPERM)}
	code = append(code, load(offsetCall))
	if foreign != 0 { // the same calls by other numbers
		code = append(code, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: foreign, Jf: 1}, fail(unix.EPERM))
	}
	for _, r := range rules {
		var body []unix.SockFilter
		for _, tests := range r.allow {
			left := 3*len(tests) + 1 // instructions up to the next list
			for _, t := range tests {
				left -= 3
				compare := equal(t.want, left)
				if t.not {
					compare.Jt, compare.Jf = compare.Jf, compare.Jt
				}
				body = append(body, load(offsetArgs+8*t.arg), unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: t.mask}, compare)
			}
			body = append(body, end(unix.SECCOMP_RET_ALLOW))
		}
		body = append(body, fail(r.errno))
		code = append(code, equal(r.call, len(body)))
		code = append(code, body...)
	}
	return append(code, end(unix.SECCOMP_RET_ALLOW))
}

// install applies the filter to this thread. It cannot be removed.
func install(code []unix.SockFilter) error {
	p := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&p))); errno != 0 {
		return fmt.Errorf("filter the system calls of a sandboxed program: %w", errno)
	}
	return nil
}

// FilterAvailable says why system calls cannot be filtered; nil if they can.
func FilterAvailable() error {
	if arch == 0 {
		return fmt.Errorf("%w: perstack does not know the system calls of this processor", ErrUnavailable)
	}
	action := uint32(unix.SECCOMP_RET_ERRNO)
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action))); errno != 0 {
		return fmt.Errorf("%w: system calls cannot be filtered: %w", ErrUnavailable, errno)
	}
	return nil
}
