package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// Where the system lets this user make control groups (cgroup v2) with limits on memory and
// processes, the kernel enforces these for each program. perstack makes a group for a supervisor
// process and hands over its directory; the process makes one in it for each program. Where
// anything of this fails, memory is limited as memory_linux.go says: a group is never required.

const (
	groupRoot   = "/sys/fs/cgroup"
	groupPrefix = "perstack-"
)

// groups is a directory in which control groups are made.
type groups struct {
	dir  *os.File
	path string                                   // empty in a supervisor process
	made func(parent *os.File, name string) error // nil, except in tests: makes what the kernel makes in a new group
}

// makeGroups makes a group for a supervisor process below one that this user has been given, as
// the text of /proc/self/cgroup says.
func makeGroups(root, self, name string, made func(*os.File, string) error) (*groups, error) {
	parent, err := delegated(root, self)
	if err != nil {
		return nil, err
	}
	removeAbandonedGroups(parent)
	above, err := os.Open(parent)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	g := &groups{dir: above, made: made}
	if g.dir, err = g.make(name); err != nil {
		return nil, err
	}
	g.path = filepath.Join(parent, name)
	if err := writeIn(g.dir, "cgroup.subtree_control", "+memory +pids"); err != nil {
		return nil, errors.Join(err, g.remove())
	}
	return g, nil
}

// delegated finds the group to make others in: that of this process if it can have some with
// limits, which it cannot if it contains processes; else the one above, unless we are root. Root
// can write everywhere, and its groups belong to the system.
func delegated(root, self string) (string, error) {
	own := ""
	for line := range strings.Lines(self) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/"); ok {
			own = path
		}
	}
	if own == "" || !filepath.IsLocal(own) {
		return "", errors.New("this process has no control group of its own")
	}
	candidates := []string{own}
	if os.Geteuid() != 0 {
		candidates = append(candidates, filepath.Dir(own))
	}
	for _, c := range candidates {
		dir := filepath.Join(root, c)
		control, err := os.ReadFile(filepath.Join(dir, "cgroup.subtree_control"))
		fields := strings.Fields(string(control))
		if err == nil && slices.Contains(fields, "memory") && slices.Contains(fields, "pids") && unix.Access(dir, unix.W_OK) == nil {
			return dir, nil
		}
	}
	return "", errors.New("this user cannot limit memory with control groups")
}

// make makes a group and opens it.
func (g *groups) make(name string) (*os.File, error) {
	at := int(g.dir.Fd())
	if err := unix.Mkdirat(at, name, 0o755); err != nil {
		return nil, fmt.Errorf("make a control group: %w", err)
	}
	var err error
	if g.made != nil {
		err = g.made(g.dir, name)
	}
	fd := -1
	if err == nil {
		fd, err = unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, errors.Join(err, unix.Unlinkat(at, name, unix.AT_REMOVEDIR))
	}
	return os.NewFile(uintptr(fd), name), nil
}

// remove removes the group with those in it. Their processes are ending.
func (g *groups) remove() error {
	if g == nil {
		return nil
	}
	defer g.dir.Close()
	var err error
	for range 50 {
		names, _ := os.ReadDir(g.path)
		for _, n := range names {
			if n.IsDir() {
				_ = unix.Rmdir(filepath.Join(g.path, n.Name()))
			}
		}
		if err = unix.Rmdir(g.path); err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("remove a control group: %w", err)
}

// removeAbandonedGroups removes those of processes that were killed.
func removeAbandonedGroups(parent string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), groupPrefix)
		number, _, _ := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(number)
		if !ours || err != nil || unix.Kill(pid, 0) != unix.ESRCH {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		inside, _ := os.ReadDir(dir)
		for _, n := range inside {
			_ = unix.Rmdir(filepath.Join(dir, n.Name())) // the kernel refuses it while something runs there
		}
		_ = unix.Rmdir(dir)
	}
}

// A programGroup is the control group of one program.
type programGroup struct {
	groups *groups
	name   string
	dir    *os.File
	memory int64
}

// program makes the group of a program; nil if that does not work, or nothing is limited.
func (g *groups) program(id uint64, l policy.Limits) *programGroup {
	if g == nil || l.Memory == 0 {
		return nil
	}
	p := &programGroup{groups: g, name: "program-" + strconv.FormatUint(id, 10), memory: memoryLimit(l.Memory)}
	var err error
	if p.dir, err = g.make(p.name); err != nil {
		return nil
	}
	err = writeIn(p.dir, "memory.max", strconv.FormatInt(p.memory, 10))
	if l.Tasks > 0 {
		err = errors.Join(err, writeIn(p.dir, "pids.max", strconv.Itoa(l.Tasks)))
	}
	if err != nil {
		p.remove()
		return nil
	}
	_ = writeIn(p.dir, "memory.swap.max", "0")  // a kernel can have no swap
	_ = writeIn(p.dir, "memory.oom.group", "1") // since Linux 4.19: all processes are killed together
	return p
}

// start starts the program in its group, or without it if the kernel refuses that. It returns the
// group if that is used.
func (p *programGroup) start(sys *syscall.SysProcAttr, fork func(*syscall.SysProcAttr) error) (*programGroup, error) {
	if p == nil {
		return nil, fork(sys)
	}
	with := *sys
	with.UseCgroupFD, with.CgroupFD = true, int(p.dir.Fd())
	if fork(&with) == nil {
		return p, nil
	}
	return nil, fork(sys)
}

// exceeded says which limit the kernel has killed processes for; "" for none.
func (p *programGroup) exceeded() string {
	if p == nil {
		return ""
	}
	data, err := readIn(p.dir, "memory.events")
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(data) {
		name, count, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		if string(name) == "oom_kill" && string(count) != "0" {
			return tooMuchMemory(p.memory)
		}
	}
	return ""
}

// remove removes the group. If a process is still ending in it, perstack removes it later.
func (p *programGroup) remove() {
	if p == nil {
		return
	}
	p.dir.Close()
	_ = unix.Unlinkat(int(p.groups.dir.Fd()), p.name, unix.AT_REMOVEDIR)
}

func writeIn(dir *os.File, name, text string) error {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("set %s of a control group: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func readIn(dir *os.File, name string) ([]byte, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	data := make([]byte, 4<<10)
	n, err := f.Read(data)
	return data[:n], err
}

// takeGroups returns the directory that this supervisor process was given; nil for none.
func takeGroups() *groups {
	var s unix.Statfs_t
	if unix.Fstatfs(groupFD, &s) != nil || s.Type != unix.CGROUP2_SUPER_MAGIC {
		return nil
	}
	return &groups{dir: os.NewFile(groupFD, "groups")}
}

// supervisorGroups makes the groups for a supervisor process; nil where this user cannot.
func supervisorGroups() *groups {
	var s unix.Statfs_t
	if unix.Statfs(groupRoot, &s) != nil || s.Type != unix.CGROUP2_SUPER_MAGIC {
		return nil
	}
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	name := groupPrefix + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano()%math.MaxInt32, 36)
	g, err := makeGroups(groupRoot, string(self), name, nil)
	if err != nil {
		return nil
	}
	return g
}
