package landlock

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Access is what a program can do with files in a sandbox that has mounts and a network of its
// own. The mounts already decide what exists. Landlock is a second barrier, for the case that
// one of them is missing.
type Access struct {
	Read, Write []string // trees; those that do not exist, or not for this user, are skipped
	Terminals   string   // the directory of its terminals, which need ioctl commands
}

// Restrict applies the access, and the filter of system calls for such a sandbox, to this
// thread. The goroutine stays on the thread.
//
// The mounts protect an ordinary user without Landlock. User 0 owns files of the kernel in
// /proc, so it is refused without.
func (a Access) Restrict() error {
	runtime.LockOSThread()
	code := compile(insideRules())
	abi, err := ABI()
	switch {
	case err == nil && abi >= abiMove:
		if err := a.enter(abi); err != nil {
			return err
		}
	case os.Geteuid() == 0:
		return atLeast(abiMove, "sandbox programs of root; Linux 5.19 or newer has it")
	}
	return install(code) // it needs no_new_privs, which the caller has set
}

func (a Access) enter(abi int) error {
	rules, err := newRuleset(abi, 0)
	if err != nil {
		return err
	}
	defer unix.Close(rules.fd)
	allow := func(path string, tree, file uint64) error {
		if err := rules.allow(path, nil, tree, file); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EACCES) {
			return fmt.Errorf("sandbox policy: allow %s: %w", path, err)
		}
		return nil
	}
	for _, path := range a.Read {
		if err := allow(path, readTree, readFile); err != nil {
			return err
		}
	}
	for _, path := range a.Write {
		if err := allow(path, writeTree, writeFile); err != nil {
			return err
		}
	}
	if a.Terminals != "" {
		if err := allow(a.Terminals, writeTree|unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, writeFile); err != nil {
			return err
		}
	}
	return rules.enter()
}
