package space

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// A part is one thing in the root directory of a sandbox: a tree of the machine, a file system
// of its own, or a link.
type part struct {
	path  string
	isDir bool

	tree int // a copy of mounts of the machine; -1 if it is none

	fs      string // a new file system
	options []option
	flags   int

	link string // where a link leads
}

func (m part) close() {
	if m.tree >= 0 {
		unix.Close(m.tree)
	}
}

const (
	readOnly  = unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	readWrite = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
)

// collect opens everything that the policy makes visible.
func collect(p *policy.Policy) ([]part, error) {
	c := collector{changeable: p.Changeable()}
	c.system()
	c.devices()
	c.add(part{path: "/proc", isDir: true, tree: -1, fs: "proc", flags: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC})
	c.memory("/tmp", tmpSize, "1777")
	if p.Home != "" && p.Home != "/" {
		c.memory(p.Home, homeSize, "700")
	}
	for _, path := range p.Read {
		if err := c.tree(path, path, readOnly); err != nil && !isAbsent(err) {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
	}
	for _, path := range p.Opened {
		at, err := landlock.OpenDirect(path)
		if err != nil {
			continue
		}
		if err := c.mount(path, at, readOnly); err != nil && !isAbsent(err) {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
	}
	for _, path := range p.Write {
		if err := c.tree(path, path, readWrite); err != nil {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
	}
	for _, cache := range p.Caches {
		if err := c.cache(cache); err != nil {
			return nil, fmt.Errorf("open the cache %s: %w", cache.Path, err)
		}
	}
	if err := c.workspace(p.Workspace); err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	return c.parts, nil
}

// isAbsent says that a path cannot be shown because it does not exist for this user.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// A collector gathers the parts of a root directory.
type collector struct {
	parts      []part
	changeable []string // trees in which programs can have put links
}

func (c *collector) add(m part) { c.parts = append(c.parts, m) }

// tree adds a file or tree of the machine.
func (c *collector) tree(path, source string, attributes uint64) error {
	at, err := landlock.Open(source, c.changeable, unix.O_NOFOLLOW)
	if err != nil {
		return err
	}
	return c.mount(path, at, attributes)
}

// mount adds a file or tree that is open, and closes it.
func (c *collector) mount(path string, at int, attributes uint64) error {
	defer unix.Close(at)
	fd, err := cloneTree(at, "", attributes)
	if err != nil {
		return err
	}
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		unix.Close(fd)
		return err
	}
	c.add(part{path: path, isDir: info.Mode&unix.S_IFMT == unix.S_IFDIR, tree: fd})
	return nil
}

// memory adds an empty file system in memory.
func (c *collector) memory(path, size, mode string) {
	c.add(part{path: path, isDir: true, tree: -1, fs: "tmpfs", flags: readWrite, options: []option{{"size", size}, {"mode", mode}}})
}

// system adds what programs need to run at all. A link stays a link where it leads into a tree
// that is visible; elsewhere the file that it leads to takes its place. What does not exist on
// this machine, or not for this user, is left out.
func (c *collector) system() {
	paths := landlock.SystemFiles()
	for _, path := range paths {
		link, err := os.Readlink(path)
		if err != nil {
			_ = c.tree(path, path, readOnly)
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		switch {
		case err != nil:
		case isBelowAny(real, paths):
			c.add(part{path: path, tree: -1, link: link})
		default:
			_ = c.tree(path, real, readOnly)
		}
	}
}

func isBelowAny(path string, trees []string) bool {
	for _, top := range trees {
		if top != path && strings.HasPrefix(path, top+"/") {
			return true
		}
	}
	return false
}

// devices adds the devices that every program may use, terminals of its own, and memory to
// share between the processes of a sandbox.
func (c *collector) devices() {
	for _, name := range []string{"null", "zero", "full", "random", "urandom"} {
		_ = c.tree("/dev/"+name, "/dev/"+name, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
	}
	c.add(part{path: "/dev/pts", isDir: true, tree: -1, fs: "devpts", flags: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC,
		options: []option{{"ptmxmode", "0666"}, {"mode", "620"}}})
	c.memory("/dev/shm", sharedSize, "1777")
	for name, target := range map[string]string{"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		c.add(part{path: "/dev/" + name, tree: -1, link: target})
	}
}

// cache adds a cache whose changes go elsewhere. Where the kernel cannot combine two
// directories, programs see what they wrote and nothing else.
func (c *collector) cache(cache policy.Cache) error {
	if cache.Lower != "" {
		options := []option{{"lowerdir", escape(cache.Lower)}, {"upperdir", cache.Upper}, {"workdir", cache.Work}, {"userxattr", ""}}
		fd, err := newMount("overlay", options, readWrite)
		if err == nil {
			c.add(part{path: cache.Path, isDir: true, tree: fd})
			return nil
		}
	}
	return c.tree(cache.Path, cache.Upper, readWrite)
}

// escape keeps a path from being read as a list of paths.
func escape(path string) string { return strings.NewReplacer(`\`, `\\`, `:`, `\:`).Replace(path) }

// workspace adds the workspace. Without a right to it, an empty directory takes its place in a tree
// that contains it.
func (c *collector) workspace(w policy.Workspace) error {
	switch {
	case w.CanWrite():
		return c.tree(w.Path, w.Path, readWrite)
	case w.CanRead():
		return c.tree(w.Path, w.Path, readOnly)
	case slices.ContainsFunc(c.parts, func(m part) bool { return m.tree >= 0 && strings.HasPrefix(w.Path, m.path+"/") }):
		c.add(part{path: w.Path, isDir: true, tree: -1, fs: "tmpfs", flags: readOnly, options: []option{{"size", "16k"}, {"mode", "555"}}})
	}
	return nil
}
