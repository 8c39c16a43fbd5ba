package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/testkit"
)

// Each mount inside has the flags that it needs and no more, and file systems in memory have a
// size. Landlock forbids much of the same, so the behaviour of programs alone would not tell.
func TestInsideMounts(t *testing.T) {
	c := inside(t, shell(t, ""))
	shared, upper, work, lower := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	cache := filepath.Join(c.Policy.Home, ".cache/tool")
	write(t, filepath.Join(c.Dir, ".env"), "secret")
	write(t, filepath.Join(c.Dir, "old/.env/x"), "secret")
	write(t, filepath.Join(c.Dir, "a/perstack.toml"), "x")
	if err := os.Chmod(work, 0o700); err != nil {
		t.Fatal(err)
	}
	p := c.Policy
	p.Write, p.Caches = []string{shared}, []policy.Cache{{Path: cache, Lower: lower, Upper: upper, Work: work}}
	p.Hidden, p.Frozen, p.Pinned = []string{".env", "old/.env"}, []string{"a/perstack.toml"}, []string{"a"}
	got := said(t, supervisor(t), sh(c, `cat /proc/self/mountinfo`))

	writable := []string{
		c.Dir, filepath.Join(c.Dir, "a"), shared, p.Home, cache, "/tmp", "/dev/shm", "/dev/pts", "/proc",
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
	}
	sizes := map[string]string{"/": "16384k", "/tmp": "1048576k", "/dev/shm": "65536k", p.Home: "524288k"}
	seen := make(map[string]bool)
	for line := range strings.Lines(got) {
		fields := strings.Fields(line)
		at, flags, kind := fields[4], strings.Split(fields[5], ","), fields[slices.Index(fields, "-")+1]
		has := func(flag string) bool { return slices.Contains(flags, flag) }
		pin := slices.ContainsFunc(slices.Concat(p.Read, []string{p.Home, c.Dir, cache, shared}), func(path string) bool {
			return at != "/" && strings.HasPrefix(path, at+"/")
		})
		if want := slices.Contains(writable, at) || pin; has("ro") == want {
			t.Errorf("%s: writable must be %t: %s", at, want, fields[5])
		}
		if isDevice := strings.HasPrefix(at, "/dev/") && at != "/dev/shm"; !has("nosuid") || has("nodev") == isDevice {
			t.Errorf("%s: %s", at, fields[5])
		}
		// Where files are protected, mounts of the holder arrive. None leaves the command.
		arrive := slices.ContainsFunc([]string{c.Dir, shared}, func(top string) bool { return at == top || strings.HasPrefix(at, top+"/") })
		if propagation := fields[6]; propagation != "-" && (!arrive || !strings.HasPrefix(propagation, "master:")) || arrive == (propagation == "-") {
			t.Errorf("%s: how mounts are propagated: %s", at, propagation)
		}
		if size, ok := sizes[at]; ok && (kind != "tmpfs" || !strings.Contains(line, "size="+size)) {
			t.Errorf("%s: %s", at, line)
		}
		if at == cache && kind != "overlay" {
			t.Errorf("%s is %s", at, kind)
		}
		seen[at] = true
	}
	if os.Geteuid() == 0 { // who owns these
		writable = append(writable, "/proc/acpi", "/proc/asound", "/proc/driver", "/proc/scsi")
	}
	for _, path := range slices.Concat(writable, []string{
		"/", "/usr", "/etc/passwd", "/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs",
		filepath.Join(c.Dir, ".env"), filepath.Join(c.Dir, "old/.env"), filepath.Join(c.Dir, "a/perstack.toml"), filepath.Dir(cache),
	}) {
		if _, err := os.Lstat(path); !seen[path] && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is not mounted:\n%s", path, got)
		}
	}
}

// A program inside shares no namespace with the machine.
func TestInsideNamespaces(t *testing.T) {
	c := inside(t, shell(t, ""))
	s := supervisor(t)
	for _, name := range []string{"user", "mnt", "pid", "net", "ipc", "uts"} {
		outside, err := os.Readlink("/proc/self/ns/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if got := said(t, s, sh(c, `readlink /proc/self/ns/`+name)); got == outside || !strings.HasPrefix(got, name+":[") {
			t.Errorf("%s is %s, and %s outside", name, got, outside)
		}
	}
}

// The limits of each process are those of the policy, and a program cannot raise them.
func TestInsideLimits(t *testing.T) {
	c := inside(t, shell(t, `cat /proc/self/limits`))
	c.Policy.Limits = policy.Limits{Tasks: 61, FileSize: 62 << 20, OpenFiles: 63, Signals: 64}
	got := said(t, supervisor(t), c)
	for name, want := range map[string]string{
		"Max processes": "61 61", "Max file size": "65011712 65011712", "Max open files": "63 63", "Max pending signals": "64 64", "Max core file size": "0 0",
	} {
		_, rest, _ := strings.Cut(got, name)
		if fields := strings.Fields(rest); len(fields) < 2 || strings.Join(fields[:2], " ") != want {
			t.Errorf("%s is not %s:\n%s", name, want, got)
		}
	}
}

// Landlock, the second barrier, lets programs write where they have to, also outside of /tmp.
func TestInsideLandlock(t *testing.T) {
	c := inside(t, shell(t, ""))
	var dirs [2]string
	for i := range dirs {
		dir, err := os.MkdirTemp("/var/tmp", "perstack-test")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		dirs[i] = dir
	}
	c.Dir, c.Policy.Workspace.Path, c.Policy.Write = dirs[0], dirs[0], dirs[1:]
	c.Policy.Home = "/home/perstack-test" // which the machine does not have
	c.Set["HOME"] = c.Policy.Home
	s := supervisor(t)
	if got := said(t, s, sh(c, `for d in . ~ `+dirs[1]+` /tmp /dev/shm; do echo x >$d/x || echo cannot write $d; done; echo x >/dev/null; rm x ~/x`)); got != "" {
		t.Error(got)
	}
	// The mounts would let this call through, and no file of the sandbox needs it.
	if abi, err := landlock.ABI(); err != nil || abi < 5 {
		testkit.Missing(t, fmt.Sprintf("Landlock ABI 5, which judges calls of devices; this kernel has %d (%v)", abi, err))
	}
	if got := said(t, s, sh(c, `stty -F /dev/null`)); !strings.Contains(got, "Permission denied") {
		t.Errorf("Landlock does not restrict programs: %s", got)
	}
}

// A file that stays as it is gets no further mount with each command.
func TestInsideMountsOnce(t *testing.T) {
	c := inside(t, shell(t, ""))
	write(t, filepath.Join(c.Dir, ".env"), "secret")
	write(t, filepath.Join(c.Dir, "a/perstack.toml"), "x")
	c.Policy.Hidden, c.Policy.Frozen, c.Policy.Pinned = []string{".env"}, []string{"a/perstack.toml"}, []string{"a"}
	s := supervisor(t)
	count := sh(c, `wc -l </proc/self/mountinfo`)
	if first, later := said(t, s, count), said(t, s, count); first != later {
		t.Errorf("%s mounts, and %s later", first, later)
	}
}

// The way to a mount follows no link in a tree that programs can write to: it would hide another
// part of the sandbox.
func TestInsideFollowsNoLinks(t *testing.T) {
	c := inside(t, shell(t, `echo started`))
	dir := t.TempDir()
	write(t, filepath.Join(dir, "real/file"), "x")
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	c.Policy.Write, c.Policy.Read = []string{dir}, append(c.Policy.Read, filepath.Join(dir, "link/file"))
	if out, err := supervisor(t).Run(t.Context(), c); err == nil {
		t.Errorf("it started: %s", out.Stdout.String())
	}

	// A tree that became a link shows nothing of what that leads to, and a file whose directory did
	// is not protected in another place: it has gone.
	c = inside(t, shell(t, `cat `+filepath.Join(dir, "linked")+` 2>&1; echo changed >real/file && cat real/file`))
	write(t, filepath.Join(c.Dir, "real/file"), "x")
	if err := errors.Join(os.Symlink("real/file", filepath.Join(dir, "linked")), os.Symlink("real", filepath.Join(c.Dir, "link"))); err != nil {
		t.Fatal(err)
	}
	c.Policy.Read, c.Policy.Frozen = append(c.Policy.Read, filepath.Join(dir, "linked")), []string{"link/file"}
	if got := said(t, supervisor(t), c); !strings.HasSuffix(got, "changed") || !strings.Contains(got, "No such file") {
		t.Errorf("a link was followed: %s", got)
	}
}
