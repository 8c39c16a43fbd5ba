package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Harden prepares this process for running programs that it does not trust. A program
// calls it after [Init], before it reads a secret or listens on the network.
//
// It keeps processes of the same user from reading the memory and the environment of
// this one: the kernel refuses /proc and ptrace, core dumps are off, and the environment
// that the kernel placed in memory is overwritten (the Go runtime has its own copy). Root
// could still read them, so commands are started without capabilities.
//
// It marks inherited descriptors as close-on-exec, so that commands do not get files,
// pipes and sockets that the parent of this process left open.
//
// And it makes this process inherit the orphans among its descendants, so that it can
// kill them if its supervisor is killed.
func Harden() error {
	if err := eraseEnvironment(); err != nil { // while /proc/self/mem can still be written
		return err
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("make this process unreadable for its children: %w", err)
	}
	if err := noCoreDumps(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("inherit the orphans of commands: %w", err)
	}
	// Linux 5.11. Older kernels, and some emulations of Linux, refuse it.
	if err := unix.CloseRange(firstInherited, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		closeEachOnExec()
	}
	return nil
}

// eraseEnvironment overwrites the variables that the kernel put on the stack and shows in
// /proc/self/environ. Package os has its own copies.
//
// Without /proc it does nothing: then no such file exists, and the kernel does not let
// other processes read the memory of one that is not dumpable. With /proc, variables that
// stay readable are an error.
func eraseEnvironment() error {
	stat, err := os.ReadFile("/proc/self/stat")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = eraseBlock(stat)
	}
	if err != nil {
		return fmt.Errorf("overwrite the environment of this process: %w", err)
	}
	return nil
}

func eraseBlock(stat []byte) error {
	from, to, err := environmentBlock(stat)
	if err != nil {
		return err
	}
	if to > from {
		memory, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = memory.WriteAt(make([]byte, to-from), from)
		if err = errors.Join(err, memory.Close()); err != nil {
			return err
		}
	}
	left, err := os.ReadFile("/proc/self/environ")
	if err != nil {
		return err
	}
	if len(bytes.Trim(left, "\x00")) > 0 {
		return errors.New("it can still be read")
	}
	return nil
}

// environmentBlock finds the addresses: fields 50 and 51 of proc_pid_stat(5).
func environmentBlock(stat []byte) (from, to int64, err error) {
	fields := statFields(stat)
	if len(fields) < 49 {
		return 0, 0, errors.New("the kernel does not say where it is")
	}
	from, err = strconv.ParseInt(string(fields[47]), 10, 64)
	if err == nil {
		to, err = strconv.ParseInt(string(fields[48]), 10, 64)
	}
	if err != nil || to < from || to-from > 64<<20 {
		return 0, 0, errors.New("the kernel does not say where it is")
	}
	return from, to, nil
}

// withoutPrivileges calls start on a thread that has no capabilities and cannot gain any,
// so that the process it starts has none either. Otherwise, when perstack runs as root, a
// command could read the memory of every process, including ours.
//
// The thread lives until then is closed: the kernel signals the supervisor when it ends
// (see supervisorAttributes). The goroutine never unlocks the thread, so the thread ends
// with it and is not used for anything else.
func withoutPrivileges(start func() error, then <-chan struct{}) error {
	return onThread(dropPrivileges, start, then)
}

// withoutNewPrivileges is for a process in a new user namespace. There the kernel gives it
// other capabilities in place of those of the thread. The thread must keep its own: without
// them, root could not map its number into the namespace.
func withoutNewPrivileges(start func() error, then <-chan struct{}) error {
	return onThread(noNewPrivileges, start, then)
}

func onThread(restrict, start func() error, then <-chan struct{}) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := restrict()
		if err == nil {
			err = start()
		}
		done <- err
		if err == nil {
			<-then
		}
	}()
	return <-done
}

// supervisorAttributes give the supervisor a session of its own, and make the kernel
// continue it when this process dies: a command may have stopped it.
func supervisorAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT}
}

// Bits of PR_SET_SECUREBITS: being user 0 gives no capabilities, changing users gives
// none, and no later call can undo this.
const secureBits = 1<<0 | 1<<1 | // SECBIT_NOROOT, locked
	1<<2 | 1<<3 | // SECBIT_NO_SETUID_FIXUP, locked
	1<<5 | // SECBIT_KEEP_CAPS stays off
	1<<6 | 1<<7 // SECBIT_NO_CAP_AMBIENT_RAISE, locked

// dropPrivileges removes all capabilities from this thread. Each step alone would be
// enough; together they hold even if one of them is wrong.
func dropPrivileges() error {
	if err := noNewPrivileges(); err != nil {
		return err
	}
	// Dropping the bounding set and setting secure bits need a capability, and matter only
	// to a process that has some.
	for c := uintptr(0); c <= lastCapability; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
			break // the last capability, or not permitted
		}
	}
	_ = unix.Prctl(unix.PR_SET_SECUREBITS, secureBits, 0, 0, 0)
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)

	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("take the capabilities from commands: %w", err)
	}
	return checkPrivileges()
}

func noNewPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("keep commands from gaining rights: %w", err)
	}
	return nil
}

const lastCapability = 63 // a set has 64 bits

// checkPrivileges returns an error if this thread has or can gain privileges.
func checkPrivileges() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return fmt.Errorf("read the capabilities: %w", err)
	}
	if have != [2]unix.CapUserData{} {
		return errors.New("commands would have capabilities that could not be dropped")
	}
	locked, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && locked != 1 {
		err = errors.New("no_new_privs is off")
	}
	if err != nil {
		return fmt.Errorf("commands could gain rights: %w", err)
	}
	return nil
}

// ownProgram is the file of this program, even if another file has its name by now.
func ownProgram() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	return os.Executable()
}
