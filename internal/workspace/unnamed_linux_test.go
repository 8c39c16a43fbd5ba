package workspace_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/workspace"
)

// needUnnamed ends a test where files without a name cannot be made.
func needUnnamed(t *testing.T, dir string) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		testkit.Missing(t, "a file system that knows O_TMPFILE")
	}
	unix.Close(fd)
}

// unfinished returns the temporary names below a directory.
func unfinished(t *testing.T, dir string) []string {
	t.Helper()
	var left []string
	for _, pattern := range []string{"", "*", "*/*"} {
		handle, err := filepath.Glob(filepath.Join(dir, pattern, ".perstack-*"))
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, handle...)
	}
	return left
}

// killed is set for a child that is to kill itself when it has written all of a file and
// is about to bring it to the disk.
const killed = "PERSTACK_TEST_KILLED"

// changes are the ways in which a file is rewritten.
var changes = []struct {
	name   string
	change func(context.Context, *workspace.Workspace) error
}{
	{"new.txt", func(ctx context.Context, w *workspace.Workspace) error {
		_, err := w.WriteFile(ctx, "new.txt", []byte("new"))
		return err
	}},
	{"deep/er/new.txt", func(ctx context.Context, w *workspace.Workspace) error {
		_, err := w.WriteFile(ctx, "deep/er/new.txt", []byte("new"))
		return err
	}},
	{"a.txt", func(ctx context.Context, w *workspace.Workspace) error {
		_, err := w.WriteFile(ctx, "a.txt", []byte("new"))
		return err
	}},
	{"src/b.txt", func(ctx context.Context, w *workspace.Workspace) error {
		_, err := w.EditFile(ctx, "src/b.txt", 100, func([]byte) ([]byte, error) { return []byte("new"), nil })
		return err
	}},
	{"twin", func(ctx context.Context, w *workspace.Workspace) error {
		_, err := w.AppendFile(ctx, "twin", []byte("new"))
		return err
	}},
}

// A process that is killed while it writes a file leaves the old one and nothing else.
func TestKilledWriteLeavesNothing(t *testing.T) {
	if dir := os.Getenv(killed); dir != "" {
		w, err := workspace.Open(dir, workspace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w.Trace(func(what string) {
			if what == "sync file" {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		})
		for _, c := range changes {
			if c.name == os.Getenv(killed+"_NAME") {
				t.Fatal(c.change(t.Context(), w), "and still alive")
			}
		}
		t.Fatal("no such change")
	}
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			h := newFixture(t)
			needUnnamed(t, h.dir)
			put(t, filepath.Join(h.dir, "deep", "er", "x"), "")
			put(t, filepath.Join(h.dir, "twin"), "old")
			if err := os.Link(filepath.Join(h.dir, "twin"), filepath.Join(h.dir, "other")); err != nil {
				t.Fatal(err)
			}
			before := tree(t, h.dir)
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWriteLeavesNothing$")
			child.Env = append(os.Environ(), killed+"="+h.dir, killed+"_NAME="+c.name)
			out, err := child.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the child was not killed: %v\n%s", err, out)
			}
			if after := tree(t, h.dir); after != before {
				t.Errorf("after the kill:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// No other name is to be seen while a file is written, and none when it is complete. It
// is brought to the disk before it has its name, and again with it.
func TestWriteWithoutName(t *testing.T) {
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			h := newFixture(t)
			needUnnamed(t, h.dir)
			put(t, filepath.Join(h.dir, "deep", "er", "x"), "")
			put(t, filepath.Join(h.dir, "twin"), "old")
			if err := os.Link(filepath.Join(h.dir, "twin"), filepath.Join(h.dir, "other")); err != nil {
				t.Fatal(err)
			}
			var did []string
			h.Trace(func(what string) {
				if strings.HasPrefix(what, "sync") || what == "rename" || what == "settle" {
					did = append(did, what)
					if seen := unfinished(t, h.dir); len(seen) > 0 {
						t.Errorf("%s: %q can be seen", what, seen)
					}
				}
			})
			if err := c.change(t.Context(), h.Workspace); err != nil {
				t.Fatal(err)
			}
			if got, err := h.read(c.name); !strings.HasSuffix(got, "new") {
				t.Errorf("read %q, %v", got, err)
			}
			if want := []string{"sync file", "rename", "settle", "sync directory"}; !slices.Equal(did, want) {
				t.Errorf("did %q, want %q", did, want)
			}
		})
	}
}

// A file that another process makes while we write is replaced, as it always was.
func TestWriteIsOvertaken(t *testing.T) {
	h := newFixture(t)
	for name, make := range map[string]func(path string) error{
		"file": func(path string) error { return os.WriteFile(path, []byte("faster"), 0o644) },
		"link": func(path string) error { return os.Symlink(filepath.Join(h.outside, "secret.txt"), path) },
	} {
		h.Trace(func(what string) {
			if what == "sync file" {
				if err := make(filepath.Join(h.dir, name)); err != nil {
					t.Error(err)
				}
			}
		})
		if _, err := h.WriteFile(t.Context(), name, []byte("ours")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		info, err := os.Lstat(filepath.Join(h.dir, name))
		if err != nil || !info.Mode().IsRegular() {
			t.Fatalf("%s: %v, %v", name, info, err)
		}
		if got, err := h.read(name); got != "ours" {
			t.Errorf("%s: read %q, %v", name, got, err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(h.outside, "secret.txt")); string(got) != canary {
		t.Errorf("the file outside holds %q, %v", got, err)
	}
	if left := unfinished(t, h.dir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// Where a file must have a name while it is written, listings do not show it. An umask
// of 0 cannot be told from one that was forgotten, so it leads there.
func TestWriteWithName(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	h := newFixture(t)
	looked := false
	h.Trace(func(what string) {
		if what != "sync file" {
			return
		}
		looked = true
		if seen := unfinished(t, h.dir); len(seen) != 1 {
			t.Errorf("unfinished: %q", seen)
		}
		l, err := h.ReadDir(t.Context(), ".", 0, 100)
		if err != nil || l.Total != len(l.Entries) {
			t.Errorf("%d entries of %d, %v", len(l.Entries), l.Total, err)
		}
		for _, e := range l.Entries {
			if strings.HasPrefix(e.Name, ".perstack-") {
				t.Errorf("%s is listed", e.Name)
			}
		}
	})
	info, err := h.WriteFile(t.Context(), "new.txt", []byte("new"))
	if err != nil || info.Mode != 0o666 || !looked {
		t.Errorf("mode %v, %v", info.Mode, err)
	}
	if got, err := h.read("new.txt"); got != "new" {
		t.Errorf("read %q, %v", got, err)
	}
	if left := unfinished(t, h.dir); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
