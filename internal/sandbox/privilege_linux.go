package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// withoutPrivileges calls start on a thread that has no capabilities and cannot get
// any, so that what it starts is born without. Without that, a command of a perstack
// that runs as root could read the memory of every process, ours first.
//
// The thread lives until then is closed: the supervisor is told when it dies (see
// ofSupervisor). It is never given back: it ends with the goroutine, and its poverty
// with it.
func withoutPrivileges(start func() error, then <-chan struct{}) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := dropPrivileges()
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

// ofSupervisor gives the supervisor a session of its own, and has the kernel wake it
// when we die: a command may have stopped it, so that it would not notice.
func ofSupervisor() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT}
}

// Bits of PR_SET_SECUREBITS: being user 0 gives no capabilities, changing users does
// not either, and no later call can turn that back.
const secureBits = 1<<0 | 1<<1 | // SECBIT_NOROOT, locked
	1<<2 | 1<<3 | // SECBIT_NO_SETUID_FIXUP, locked
	1<<5 | // SECBIT_KEEP_CAPS stays off
	1<<6 | 1<<7 // SECBIT_NO_CAP_AMBIENT_RAISE, locked

// dropPrivileges takes everything from this thread. Each step would do alone for what
// we start; together they hold against a mistake in one.
func dropPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("keep commands from gaining rights: %w", err)
	}
	// These two need a capability, and matter only to those who have some.
	for c := uintptr(0); c <= lastCapability; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
			break // the kernel knows no more, or we may not
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

const lastCapability = 63 // there is room for so many

// checkPrivileges says which rights are left.
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

// ownProgram is the file that we run, even if another one has its name by now.
func ownProgram() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	return os.Executable()
}
