//go:build root && linux

package workspace_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

// mount mounts a small disk in the workspace.
func mount(t *testing.T, h *fixture, name, size string) {
	t.Helper()
	disk := filepath.Join(h.dir, name)
	if err := os.MkdirAll(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size="+size); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
}

// A move to a mounted disk or away from it is refused, and changes nothing.
func TestRootMoveToAnotherDevice(t *testing.T) {
	h := newFullFixture(t)
	mount(t, h, "disk", "1m")
	put(t, filepath.Join(h.dir, "disk", "taken"), "mine")
	before := h.all(t)
	for _, pair := range [][2]string{
		{"tree", "disk/tree"}, {"a.txt", "disk/a.txt"}, {"dangling", "disk/dangling"}, {"disk/taken", "taken"},
	} {
		_, _, err := h.Move(t.Context(), pair[0], pair[1])
		wantCode(t, err, workspace.CrossDevice, "different file systems")
	}
	_, _, err := h.Move(t.Context(), "a.txt", "disk/taken")
	wantCode(t, err, workspace.AlreadyExists, "already exists")
	if after := h.all(t); after != before {
		t.Errorf("refused, and changed something:\n%s\nbefore:\n%s", after, before)
	}
	_, _, err = h.Move(t.Context(), "disk", "other")
	if err == nil || !h.exists("disk/taken") {
		t.Errorf("a mounted disk was moved: %v", err)
	}
}

// On a full disk no change leaves half of itself.
func TestRootFullDiskChanges(t *testing.T) {
	h := newFullFixture(t)
	mount(t, h, "disk", "1m")
	path := filepath.Join(h.dir, "disk", "f")
	put(t, path, "begin\n")
	big := bytes.Repeat([]byte("x"), 2<<20)
	for name, call := range map[string]func() error{
		"append": func() error { _, err := h.AppendFile(t.Context(), "disk/f", big); return err },
		"write":  func() error { _, err := h.WriteFile(t.Context(), "disk/f", big); return err },
		"edit": func() error {
			_, err := h.EditFile(t.Context(), "disk/f", 100, func([]byte) ([]byte, error) { return big, nil })
			return err
		},
	} {
		wantCode(t, call(), workspace.NoSpace, "no space left")
		got, err := os.ReadFile(path)
		left, _ := os.ReadDir(filepath.Dir(path))
		if string(got) != "begin\n" || err != nil || len(left) != 1 {
			t.Errorf("%s: %d bytes, %v, %d files", name, len(got), err, len(left))
		}
	}
	if _, err := h.AppendFile(t.Context(), "disk/f", []byte("end\n")); err != nil {
		t.Errorf("there is space again: %v", err)
	}
}
