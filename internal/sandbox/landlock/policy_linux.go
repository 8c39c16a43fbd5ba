package landlock

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Versions of Landlock: files (1), moving between trees (2, Linux 5.19), truncation (3), TCP
// ports (4, Linux 6.7), devices (5), signals and abstract sockets (6, Linux 6.12).
const (
	abiMove    = 2
	minABI     = 4 // of a policy
	abiDevices = 5
	abiScopes  = 6
)

// ABI returns the version of Landlock that the kernel has.
func ABI() (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(abi), nil
}

// Available says why the kernel cannot enforce policies; nil if it can.
func Available() error {
	if err := atLeast(minABI, "restrict the network; Linux 6.7 or newer has it"); err != nil {
		return err
	}
	return FilterAvailable()
}

// KeepsApart says why the kernel cannot keep the programs of one container from signalling each
// other; nil if it can. Outside of containers, a level that cannot do that says so.
func KeepsApart() error {
	if err := atLeast(abiScopes, "contain signals; Linux 6.12 or newer has it"); err != nil {
		return err
	}
	return FilterAvailable()
}

// atLeast says why the kernel does not have a version of Landlock, and what it is needed for.
func atLeast(version int, purpose string) error {
	abi, err := ABI()
	switch {
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("%w: the kernel has no Landlock, or a filter around this process forbids it; Linux 6.7 or newer has what it takes", ErrUnavailable)
	case errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("%w: Landlock is switched off in this kernel; add landlock to the lsm= parameter it is started with", ErrUnavailable)
	case err != nil:
		return fmt.Errorf("%w: Landlock cannot be asked: %w", ErrUnavailable, err)
	case abi < version:
		return fmt.Errorf("%w: the kernel has version %d of Landlock, and version %d is needed to %s", ErrUnavailable, abi, version, purpose)
	}
	return nil
}

// Lost lists what a policy does not prevent with this version of Landlock.
func Lost(abi int) (lost []string) {
	if abi < abiDevices {
		lost = append(lost, "commands to devices (ioctl)")
	}
	if abi < abiScopes {
		lost = append(lost, "signals to other processes of the user", "abstract Unix sockets")
	}
	return lost
}

// The access that a rule can allow to files and to trees.
const (
	readFile  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	writeFile = readFile | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE

	readTree  = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeTree = readTree | writeFile | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR

	// everything includes what no rule allows: making device files, and their ioctl commands.
	everything = writeTree | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// rulePort is LANDLOCK_RULE_NET_PORT.
const rulePort = 2

// restrictAccess puts this thread into a Landlock domain. What it starts later is in the
// domain too.
func (p *Policy) restrictAccess() error {
	if err := Available(); err != nil {
		return err
	}
	abi, err := ABI()
	if err != nil {
		return err
	}
	rules, err := newRuleset(abi, unix.LANDLOCK_ACCESS_NET_BIND_TCP|unix.LANDLOCK_ACCESS_NET_CONNECT_TCP)
	if err != nil {
		return err
	}
	defer unix.Close(rules.fd)
	for _, path := range p.Read {
		err := rules.allow(path, p.Changeable, readTree, readFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("sandbox policy: allow %s: %w", path, err)
		}
	}
	for _, path := range p.Opened {
		fd, err := OpenDirect(path)
		if err != nil {
			continue
		}
		err = rules.allowOpen(fd, readTree, readFile)
		unix.Close(fd)
		if err != nil {
			return fmt.Errorf("sandbox policy: allow %s: %w", path, err)
		}
	}
	for _, path := range p.Write {
		if err := rules.allow(path, p.Changeable, writeTree, writeFile); err != nil {
			return fmt.Errorf("sandbox policy: allow %s: %w", path, err)
		}
	}
	for _, port := range p.Ports {
		rule := struct{ access, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)}
		if err := rules.add(rulePort, unsafe.Pointer(&rule)); err != nil {
			return fmt.Errorf("sandbox policy: allow port %d: %w", port, err)
		}
	}
	return rules.enter()
}

// A ruleset is a Landlock domain that is being built.
type ruleset struct{ fd, abi int }

// newRuleset handles all that this version of Landlock knows about files and processes, and
// these accesses to the network.
func newRuleset(abi int, network uint64) (ruleset, error) {
	handled := unix.LandlockRulesetAttr{Handled_access_fs: supported(abi, everything)}
	if abi >= minABI {
		handled.Handled_access_net = network
	}
	if abi >= abiScopes {
		handled.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	// The size stops before what later versions added.
	size := unsafe.Offsetof(handled.Scoped) + unsafe.Sizeof(handled.Scoped)
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&handled)), size, 0)
	if errno != 0 {
		return ruleset{}, fmt.Errorf("create a Landlock ruleset: %w", errno)
	}
	return ruleset{int(fd), abi}, nil
}

// supported returns the accesses to files that a version of Landlock knows.
func supported(abi int, access uint64) uint64 {
	if abi < abiMove+1 {
		access &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi < abiDevices {
		access &^= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return access
}

// allow lets a tree be used, or a file if it is one.
func (r ruleset) allow(path string, changeable []string, tree, file uint64) error {
	fd, err := Open(path, changeable, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return r.allowOpen(fd, tree, file)
}

func (r ruleset) allowOpen(fd int, tree, file uint64) error {
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	access := file
	if info.Mode&unix.S_IFMT == unix.S_IFDIR {
		access = tree
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: supported(r.abi, access), Parent_fd: int32(fd)}
	return r.add(unix.LANDLOCK_RULE_PATH_BENEATH, unsafe.Pointer(&rule))
}

// Open opens a path of a policy (O_PATH, and flags). A path in a tree that programs can change was
// resolved before they started; one of them can have put a link on the way since then, which is an
// error.
func Open(path string, changeable []string, flags int) (int, error) {
	outer, below := "", ""
	for _, tree := range changeable {
		rest, ok := strings.CutPrefix(path, tree+"/")
		if ok && (outer == "" || len(tree) < len(outer)) {
			outer, below = tree, rest
		}
	}
	if outer == "" {
		return unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
	}
	dir, err := unix.Open(outer, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	return unix.Openat2(dir, below, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
}

// OpenDirect opens a directory (O_PATH) without following a link, wherever on the way it is.
func OpenDirect(path string) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
}

func (r ruleset) add(kind uintptr, rule unsafe.Pointer) error {
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), kind, uintptr(rule), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// enter applies the ruleset to this thread. The kernel demands no_new_privs for that: a
// program that gains rights when it starts could be confused by missing access.
func (r ruleset) enter() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("apply a sandbox policy: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return fmt.Errorf("apply a sandbox policy: %w", errno)
	}
	return nil
}

// Restrict applies the policy and the filter of system calls to this thread, for a program
// that takes the place of this process (execve). The goroutine stays on the thread.
//
// In /proc the program sees itself and not what it starts: Landlock has no rule for
// processes that do not exist yet.
func (p *Policy) Restrict() error {
	runtime.LockOSThread()
	own := *p
	own.Read = slices.Concat(p.Read, ProcEntries(os.Getpid()))
	code := compile(rules()) // while the files can still be reached
	if err := own.restrictAccess(); err != nil {
		return err
	}
	if p.FixedMetadata {
		if err := install(compile(metadataRules())); err != nil {
			return err
		}
	}
	return install(code)
}

// ProcEntries are the files about itself that a confined program sees in /proc. Some are
// left out: net, and task which repeats it, show the connections of other processes.
//
// The supervisor keeps them open (O_PATH) while the program runs. The kernel drops such
// files when memory is short, and creates them again as other files, which the policy does
// not allow.
func ProcEntries(pid int) (paths []string) {
	for _, name := range []string{
		"auxv", "cgroup", "cmdline", "comm", "environ", "fd", "fdinfo", "limits", "maps", "mountinfo", "mounts",
		"oom_score", "oom_score_adj", "smaps", "smaps_rollup", "stat", "statm", "status",
	} {
		paths = append(paths, "/proc/"+strconv.Itoa(pid)+"/"+name)
	}
	return paths
}
