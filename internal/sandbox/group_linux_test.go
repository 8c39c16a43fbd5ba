package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// These tests use plain directories in place of those of the kernel, and forced errors: control
// groups with limits that a user can make are not to be had on every machine.

// kernelFiles makes the files that the kernel makes in a new group.
func kernelFiles(without ...string) func(*os.File, string) error {
	return func(parent *os.File, name string) error {
		dir := filepath.Join(parent.Name(), name)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(fdPath(parent), name)
		}
		var err error
		for _, f := range []string{"cgroup.subtree_control", "memory.max", "memory.swap.max", "memory.oom.group", "memory.events", "pids.max"} {
			if !strings.Contains(strings.Join(without, " "), f) {
				err = errors.Join(err, os.WriteFile(filepath.Join(dir, f), nil, 0o644))
			}
		}
		return err
	}
}

func fdPath(f *os.File) string {
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	if err != nil {
		return ""
	}
	return path
}

// groupTree is a root with the group /user/app of a process.
func groupTree(t *testing.T, above, own string) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "user/cgroup.subtree_control"), above)
	write(t, filepath.Join(root, "user/app/cgroup.subtree_control"), own)
	return root
}

func TestDelegated(t *testing.T) {
	const self = "12:pids:/x\n0::/user/app\n"
	root := os.Geteuid() == 0
	for _, tt := range []struct {
		name, self, above, own string
		want                   string
	}{
		{"own", self, "", "cpu memory pids", "user/app"},
		{"no pids", self, "", "cpu memory", ""},
		{"above", self, "memory pids", "", map[bool]string{true: "", false: "user"}[root]},
		{"none", self, "", "", ""},
		{"no v2", "12:pids:/x\n", "memory pids", "memory pids", ""},
		{"root of all", "0::/\n", "memory pids", "memory pids", ""},
		{"elsewhere", "0::/../user/app\n", "memory pids", "memory pids", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := groupTree(t, tt.above, tt.own)
			got, err := delegated(at, tt.self)
			want := ""
			if tt.want != "" {
				want = filepath.Join(at, tt.want)
			}
			if got != want || (err == nil) != (want != "") {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		})
	}
}

// A program gets a group with its limits; the kernel's count of kills becomes the limit that it
// exceeded.
func TestProgramGroup(t *testing.T) {
	root := groupTree(t, "", "memory pids")
	g, err := makeGroups(root, "0::/user/app", groupPrefix+"test", kernelFiles())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "user/app", groupPrefix+"test")
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		}
		return string(data)
	}
	if got := read("cgroup.subtree_control"); got != "+memory +pids" {
		t.Error(got)
	}
	if p := g.program(1, policy.Limits{Tasks: 5}); p != nil {
		t.Error("a group without a limit on memory")
	}
	p := g.program(7, policy.Limits{Memory: 64 << 20, Tasks: 60})
	if p == nil {
		t.Fatal("no group")
	}
	for name, want := range map[string]string{"memory.max": "67108864", "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "60"} {
		if got := read("program-7/" + name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := p.exceeded(); got != "" {
		t.Error(got)
	}
	write(t, filepath.Join(dir, "program-7/memory.events"), "low 0\noom 3\noom_kill 0\n")
	if got := p.exceeded(); got != "" {
		t.Error(got)
	}
	write(t, filepath.Join(dir, "program-7/memory.events"), "low 0\noom 3\noom_kill 2\n")
	if got := p.exceeded(); got != "more than 64 MiB of memory" {
		t.Error(got)
	}
	// Without the files there is no group, and nothing is left of it.
	g.made = nil
	if g.program(8, policy.Limits{Memory: 1 << 20}) != nil {
		t.Error("a group without files")
	}
	if _, err := os.Stat(filepath.Join(dir, "program-8")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	g.made = kernelFiles("pids.max")
	if g.program(9, policy.Limits{Memory: 1 << 20, Tasks: 3}) != nil {
		t.Error("a group without a limit on processes")
	}
	if _, err := makeGroups(root, "0::/user/app", groupPrefix+"test", kernelFiles()); !errors.Is(err, unix.EEXIST) {
		t.Errorf("the same group again: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "program-7/memory.events")); err != nil {
		t.Fatal(err)
	}
	if got := p.exceeded(); got != "" {
		t.Error(got)
	}
}

// If the kernel refuses to start a process in the group, it is started without, and its memory is
// limited in the other way.
func TestProgramGroupRefused(t *testing.T) {
	g, err := makeGroups(groupTree(t, "", "memory pids"), "0::/user/app", groupPrefix+"test", kernelFiles())
	if err != nil {
		t.Fatal(err)
	}
	limits := policy.Limits{Memory: 64 << 20}
	for _, refused := range []error{unix.EACCES, unix.EBUSY, unix.EOPNOTSUPP, nil} {
		p := g.program(1, limits)
		if p == nil {
			p = &programGroup{groups: g, dir: g.dir, memory: limits.Memory}
		}
		tries := 0
		in, err := p.start(&syscall.SysProcAttr{Setsid: true}, func(sys *syscall.SysProcAttr) error {
			tries++
			if !sys.Setsid {
				t.Error("the other attributes are lost")
			}
			if sys.UseCgroupFD {
				return refused
			}
			return nil
		})
		if err != nil || (in == nil) != (refused != nil) || tries != map[bool]int{true: 2, false: 1}[refused != nil] {
			t.Errorf("%v: %v, %v after %d tries", refused, in, err, tries)
		}
		if w := limitedProgram(1, limits, in); (w.maxMemory > 0) != (in == nil) {
			t.Errorf("%v: %+v", refused, w)
		}
	}
	var none *programGroup
	if in, err := none.start(&syscall.SysProcAttr{}, func(*syscall.SysProcAttr) error { return unix.EAGAIN }); in != nil || err != unix.EAGAIN {
		t.Errorf("%v, %v", in, err)
	}
}

// Groups of processes that are gone are removed.
func TestAbandonedGroups(t *testing.T) {
	dir := t.TempDir()
	names := []string{"perstack-4194305-a/program-1", "perstack-" + strconv.Itoa(os.Getpid()) + "-b/program-1", "perstack-x", "other"}
	for _, name := range names {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	removeAbandonedGroups(dir)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 3 {
		t.Errorf("%v, %v", left, err)
	}
	g := &groups{path: filepath.Join(dir, names[1][:strings.IndexByte(names[1], '/')])}
	if g.dir, err = os.Open(g.path); err != nil {
		t.Fatal(err)
	}
	if err := g.remove(); err != nil {
		t.Error(err)
	}
	if err := (*groups)(nil).remove(); err != nil {
		t.Error(err)
	}
}
