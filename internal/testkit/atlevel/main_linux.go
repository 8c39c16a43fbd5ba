package atlevel

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// inside is the level of the process that [Main] starts in a user namespace.
const inside = "inside"

// Main runs the program with its command line, and returns its exit code.
func Main(args []string) int {
	if len(args) < 3 {
		fmt.Fprintln(os.Stderr, usage)
		return 2
	}
	runtime.LockOSThread() // filters and capabilities are those of a thread
	var code int
	var err error
	switch args[1] {
	case Full:
		err = execute(args[2:])
	case Landlock:
		code, err = inNamespace(append([]string{args[0], inside}, args[2:]...))
	case inside:
		if err = forbidNamespaces(); err == nil {
			err = execute(args[2:])
		}
	case None:
		if err = install(nothing()); err == nil {
			err = execute(args[2:])
		}
	default:
		err = errors.New(usage)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, Name+":", err)
		return 2
	}
	return code
}

func execute(args []string) error {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, args, os.Environ())
}

// inNamespace runs this program in a user namespace with its own user and group.
func inNamespace(args []string) (code int, err error) {
	own := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	// A key that interrupts is for the program. This process ends with it, and not before.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	process, err := os.StartProcess("/proc/self/exe", args, &os.ProcAttr{
		Env: os.Environ(), Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys: &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWUSER, UidMappings: own(os.Geteuid()), GidMappings: own(os.Getegid()),
			AmbientCaps: []uintptr{unix.CAP_SYS_RESOURCE, unix.CAP_SETPCAP}, Pdeathsig: syscall.SIGKILL,
		},
	})
	if err != nil {
		return 0, fmt.Errorf("make a user namespace: %w", err)
	}
	state, err := process.Wait()
	if err != nil {
		return 0, err
	}
	if status := state.Sys().(syscall.WaitStatus); status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return state.ExitCode(), nil
}

// forbidNamespaces keeps this process and what it starts from making user namespaces, and drops
// what could undo it.
func forbidNamespaces() error {
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		return err
	}
	for c := uintptr(0); ; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			break // there are no more
		}
	}
	return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
}

// nothing is a filter under which neither user namespaces nor Landlock can be had.
func nothing() []unix.SockFilter {
	const argument0 = 16 // where the kernel puts the first argument of a call
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	end := func(action uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
	}
	fail := func(errno unix.Errno) unix.SockFilter { return end(unix.SECCOMP_RET_ERRNO | uint32(errno)) }
	calls := func(number uint32, otherwise uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: otherwise}
	}
	code := []unix.SockFilter{load(0)}
	for _, number := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
		code = append(code, calls(number, 4), load(argument0),
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_NEWUSER, Jf: 1},
			fail(unix.EPERM), end(unix.SECCOMP_RET_ALLOW))
	}
	// The flags of clone3 are in memory, which a filter cannot read. Programs then use clone.
	for _, number := range []uint32{unix.SYS_CLONE3, unix.SYS_LANDLOCK_CREATE_RULESET} {
		code = append(code, calls(number, 1), fail(unix.ENOSYS))
	}
	return append(code, end(unix.SECCOMP_RET_ALLOW))
}

func install(code []unix.SockFilter) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	p := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&p))); errno != 0 {
		return errno
	}
	return nil
}
