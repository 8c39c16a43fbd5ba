// Package space makes the file system and the network that a sandboxed program sees at level
// full. It works on the calling process, which must have been started in namespaces of its own
// (see [Attributes]); it never starts a process itself.
//
// The process, called the holder, replaces its root directory by an empty one and puts into it
// what the policy names: system files read-only, the workspace, an empty home. A program cannot
// name anything else. Files in the workspace that have to be protected get a mount of their
// own, which a program can neither remove nor rename. The holder's network has nothing but a
// loopback interface. The listener on it is handed to perstack, whose proxy decides about hosts.
//
// Each command gets a process table and a copy of the mounts of its own: see
// [CommandAttributes] and [EnterCommand].
//
// Start reading at [Build].
package space

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// Attributes are those of a process that can call [MapUser] and [Build]. The capabilities count in
// the new namespaces only.
func Attributes(p *policy.Policy) *syscall.SysProcAttr {
	flags := unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if !p.HostNetwork {
		flags |= unix.CLONE_NEWNET
	}
	return &syscall.SysProcAttr{
		Cloneflags: uintptr(flags),
		// Without these, the process would lose its capabilities when it executes its program.
		// SETUID and SETGID are for MapUser. DAC_OVERRIDE is for overlays, whose working
		// directory has the mode 000.
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE, unix.CAP_SETUID, unix.CAP_SETGID},
		Setsid:      true,
		Pdeathsig:   syscall.SIGKILL,
	}
}

// MapUser makes the user and the group of the machine known in the namespaces of this process,
// by the same numbers: files belong to the same user inside. The process does that itself, before
// it makes itself unreadable. The process that started it cannot: it has done so already, and
// what it forks inherits that.
func MapUser(uid, gid int) error {
	for _, file := range []struct{ name, content string }{
		{"setgroups", "deny"},
		{"uid_map", fmt.Sprintf("%d %d 1", uid, uid)},
		{"gid_map", fmt.Sprintf("%d %d 1", gid, gid)},
	} {
		if err := os.WriteFile("/proc/self/"+file.name, []byte(file.content), 0); err != nil {
			return fmt.Errorf("map the user into a sandbox: %w", err)
		}
	}
	return nil
}

// A Space is what the programs of one holder see.
type Space struct {
	workspace int // descriptor of the workspace; -1 without one
	root      int
	masks     masks

	mu      sync.Mutex
	mounted map[string]protection // by path
	current *policy.Policy        // of the newest command
	watch   *watch
}

// Sizes of what lives in memory.
const (
	rootSize   = "16m"
	homeSize   = "512m"
	tmpSize    = "1g"
	sharedSize = "64m"
)

// Build replaces the root directory of this process by what the policy allows, and returns the
// listener of the sandbox, if it has one. After an error the process must end.
func Build(p *policy.Policy) (*Space, *net.TCPListener, error) {
	s := &Space{workspace: -1, mounted: make(map[string]protection), watch: newWatch()}
	if err := s.replaceRoot(p); err != nil {
		return nil, nil, fmt.Errorf("make the file system of a sandbox: %w", err)
	}
	if err := s.share(p); err != nil {
		return nil, nil, fmt.Errorf("share the mounts of a sandbox with its commands: %w", err)
	}
	if err := s.Protect(p); err != nil {
		return nil, nil, err
	}
	if s.watch.events != nil {
		go s.renew()
	}
	listener, err := openNetwork(p)
	if err != nil {
		return nil, nil, fmt.Errorf("make the network of a sandbox: %w", err)
	}
	return s, listener, nil
}

// replaceRoot does the work in an order that matters. What will be visible is opened first,
// while its paths still lead to it. /proc has to be mounted while the old one is still there:
// the kernel lets a user namespace mount no more of it than can be seen already.
func (s *Space) replaceRoot(p *policy.Policy) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep its mounts to itself: %w", err)
	}
	parts, err := collect(p)
	if err != nil {
		return err
	}
	const place = "/dev" // any directory that every system has
	if err := unix.Mount("tmpfs", place, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size="+rootSize); err != nil {
		return fmt.Errorf("mount an empty directory: %w", err)
	}
	if err := unix.Chdir(place); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("make it the root directory: %w", err)
	}
	if s.root, err = unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	if err := s.attach(parts); err != nil {
		return err
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("detach the file system of the machine: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	if err := s.makeFiles(p.Files); err != nil {
		return err
	}
	if s.masks, err = newMasks(); err != nil {
		return err
	}
	if p.Workspace.CanRead() {
		if s.workspace, err = unix.Open(p.Workspace.Path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
			return fmt.Errorf("open the workspace: %w", err)
		}
	}
	readOnly := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(s.root, "", unix.AT_EMPTY_PATH, &readOnly); err != nil {
		return fmt.Errorf("make its root directory read-only: %w", err)
	}
	return nil
}

// share makes later mounts on protected files reach the commands that run by then.
func (s *Space) share(p *policy.Policy) error {
	trees := slices.Clone(p.Write)
	if s.workspace >= 0 {
		trees = append(trees, p.Workspace.Path)
	}
	for _, path := range trees {
		shared := unix.MountAttr{Propagation: unix.MS_SHARED}
		if err := unix.MountSetattr(s.root, "."+path, unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW, &shared); err != nil {
			return err
		}
	}
	return nil
}

// attach puts the parts into the root directory, outer directories first.
func (s *Space) attach(parts []part) error {
	slices.SortStableFunc(parts, func(a, b part) int { return strings.Compare(a.path, b.path) })
	for _, m := range parts {
		if err := s.attachOne(m); err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
	}
	return nil
}

func (s *Space) attachOne(m part) error {
	defer m.close()
	if m.link != "" {
		dir, err := s.target(filepath.Dir(m.path), true)
		if err != nil {
			return err
		}
		defer unix.Close(dir)
		return unix.Symlinkat(m.link, dir, filepath.Base(m.path))
	}
	at, err := s.target(m.path, m.isDir)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	tree := m.tree
	if m.fs != "" {
		if tree, err = newMount(m.fs, m.options, m.flags); err != nil {
			return err
		}
		defer unix.Close(tree)
	}
	return moveMount(tree, at)
}

// target returns a descriptor of a path below the root, and makes what is missing. It follows
// no links: the content of a tree that is attached already is not trusted.
func (s *Space) target(path string, isDir bool) (int, error) {
	fd, err := unix.FcntlInt(uintptr(s.root), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	names := strings.Split(strings.Trim(path, "/"), "/")
	for i, name := range names {
		if name == "" {
			continue
		}
		next, err := openBeneath(fd, name)
		if errors.Is(err, unix.ENOENT) {
			if i < len(names)-1 || isDir {
				err = unix.Mkdirat(fd, name, 0o755)
			} else {
				err = unix.Mknodat(fd, name, unix.S_IFREG|0o444, 0)
			}
			if err == nil {
				next, err = openBeneath(fd, name)
			}
			if err == nil && i < len(names)-1 {
				next, err = s.pinned(next)
			}
		}
		unix.Close(fd)
		if err != nil {
			return -1, err
		}
		fd = next
	}
	return fd, nil
}

// pinned gives a new directory in home or /tmp a mount of its own and returns the directory on it.
// Those belong to programs: one that renames the directories around the workspace could put
// something else in its place, for later commands. The root directory becomes read-only.
func (s *Space) pinned(dir int) (int, error) {
	root, err := mountID(s.root)
	if err != nil {
		return dir, err
	}
	if here, err := mountID(dir); err != nil || here == root {
		return dir, err
	}
	defer unix.Close(dir)
	tree, err := cloneTree(dir, "", 0)
	if err != nil {
		return -1, err
	}
	if err := moveMount(tree, dir); err != nil {
		unix.Close(tree)
		return -1, err
	}
	return tree, nil
}

// makeFiles writes the small files that exist in the sandbox only.
func (s *Space) makeFiles(files map[string]string) error {
	for path, content := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// openNetwork sets the loopback interface up and opens the listener of the policy.
func openNetwork(p *policy.Policy) (*net.TCPListener, error) {
	if p.HostNetwork {
		return nil, nil
	}
	if err := loopbackUp(); err != nil {
		return nil, fmt.Errorf("set the loopback interface up: %w", err)
	}
	if !p.Listener {
		return nil, nil
	}
	address, err := net.ResolveTCPAddr("tcp4", policy.ProxyAddress)
	if err != nil {
		return nil, err
	}
	return net.ListenTCP("tcp4", address)
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// Access is what Landlock allows inside, a second barrier behind the mounts.
func Access(p *policy.Policy) landlock.Access {
	a := landlock.Access{Read: []string{"/"}, Write: []string{"/tmp", "/dev/shm", "/dev/pts", "/proc"}, Terminals: "/dev/pts"}
	a.Write = append(a.Write, landlock.WritableDevices()...)
	a.Write = append(a.Write, p.Write...)
	if p.Home != "" {
		a.Write = append(a.Write, p.Home)
	}
	for _, c := range p.Caches {
		a.Write = append(a.Write, c.Path)
	}
	if p.Workspace.CanWrite() {
		a.Write = append(a.Write, p.Workspace.Path)
	}
	return a
}
