package cell

import (
	"errors"
	"fmt"
	"io/fs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// minABI is the version of Landlock that knows files (1), moving between trees (2),
// truncation (3), TCP ports (4), devices (5), signals and abstract sockets (6): Linux 6.12.
const minABI = 6

// Available says why the kernel cannot keep cells.
func Available() error {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno == unix.ENOSYS:
		return fmt.Errorf("%w: the kernel has no Landlock, or a filter around this process forbids it; Linux 6.12 or newer has what it takes", ErrUnavailable)
	case errno == unix.EOPNOTSUPP:
		return fmt.Errorf("%w: Landlock is switched off in this kernel; add landlock to the lsm= parameter it is started with", ErrUnavailable)
	case errno != 0:
		return fmt.Errorf("%w: Landlock cannot be asked: %w", ErrUnavailable, errno)
	case abi < minABI:
		return fmt.Errorf("%w: the kernel has version %d of Landlock, and version %d keeps signals in; Linux 6.12 or newer has it", ErrUnavailable, abi, minABI)
	}
	return filterAvailable()
}

// What a rule can allow for files, and for trees.
const (
	readFile  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	writeFile = readFile | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE

	readTree  = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeTree = readTree | writeFile | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR

	// everything is also what no rule allows: device files and their own commands.
	everything = writeTree | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// rulePort is LANDLOCK_RULE_NET_PORT.
const rulePort = 2

// confine puts this thread into a domain of the cell. What it starts later is in it too.
func (c *Cell) confine() error {
	rules, err := newRuleset()
	if err != nil {
		return err
	}
	defer rules.close()
	for _, path := range c.Read {
		err := rules.allow(path, readTree, readFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	for _, path := range c.Write {
		if err := rules.allow(path, writeTree, writeFile); err != nil {
			return err
		}
	}
	for _, port := range c.Ports {
		if err := rules.allowPort(port); err != nil {
			return err
		}
	}
	return rules.enter()
}

// A ruleset is a domain in the making.
type ruleset struct{ fd int }

func newRuleset() (*ruleset, error) {
	handled := unix.LandlockRulesetAttr{
		Handled_access_fs:  everything,
		Handled_access_net: unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP,
		Scoped:             unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET,
	}
	// The size stops before what later versions added.
	size := unsafe.Offsetof(handled.Scoped) + unsafe.Sizeof(handled.Scoped)
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&handled)), size, 0)
	if errno != 0 {
		return nil, fmt.Errorf("make a cell: %w", errno)
	}
	return &ruleset{int(fd)}, nil
}

func (r *ruleset) close() { unix.Close(r.fd) }

// allow lets a tree be used, or a file if it is one.
func (r *ruleset) allow(path string, tree, file uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("let a cell have %s: %w", path, err)
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return fmt.Errorf("let a cell have %s: %w", path, err)
	}
	access := file
	if info.Mode&unix.S_IFMT == unix.S_IFDIR {
		access = tree
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	if err := r.add(unix.LANDLOCK_RULE_PATH_BENEATH, unsafe.Pointer(&rule)); err != nil {
		return fmt.Errorf("let a cell have %s: %w", path, err)
	}
	return nil
}

// allowPort lets connections to a port be made.
func (r *ruleset) allowPort(port uint16) error {
	rule := struct{ access, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)}
	if err := r.add(rulePort, unsafe.Pointer(&rule)); err != nil {
		return fmt.Errorf("let a cell connect to port %d: %w", port, err)
	}
	return nil
}

func (r *ruleset) add(kind uintptr, rule unsafe.Pointer) error {
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), kind, uintptr(rule), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// enter closes the door. A domain needs no_new_privs: a program that gains rights on its
// start would else be confused by what it cannot do.
func (r *ruleset) enter() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("enter a cell: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return fmt.Errorf("enter a cell: %w", errno)
	}
	return nil
}
