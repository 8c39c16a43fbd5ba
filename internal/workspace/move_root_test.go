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
func mount(t *testing.T, h *house, name, size string) {
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

// A move to another device copies and deletes, both ways. If the disk is full, all is as
// it was.
func TestRootMoveToAnotherDevice(t *testing.T) {
	h := newYard(t)
	mount(t, h, "disk", "1m")
	before := h.all(t)
	for _, name := range []string{"tree", "a.txt", "dangling"} {
		from, to, err := h.Move(t.Context(), name, "disk/new/"+name)
		if err != nil || h.exists(name) || !h.exists("disk/new/"+name) || from != filepath.Join(h.dir, name) || to != filepath.Join(h.dir, "disk/new", name) {
			t.Fatalf("%s: %q, %q, %v", name, from, to, err)
		}
		if _, _, err := h.Move(t.Context(), "disk/new/"+name, name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.RemoveDir(t.Context(), "disk/new", false); err != nil {
		t.Fatal(err)
	}
	if after := h.all(t); after != before {
		t.Errorf("there and back:\n%s\nbefore:\n%s", after, before)
	}
	put(t, filepath.Join(h.dir, "disk", "taken"), "mine")
	_, _, err := h.Move(t.Context(), "a.txt", "disk/taken")
	wantCode(t, err, workspace.AlreadyExists, "already exists")
	put(t, filepath.Join(h.dir, "big", "x"), "x")
	put(t, filepath.Join(h.dir, "big", "y"), string(make([]byte, 2<<20)))
	before = h.all(t)
	_, _, err = h.Move(t.Context(), "big", "disk/big")
	wantCode(t, err, workspace.NoSpace, "no space left")
	if after := h.all(t); after != before {
		t.Error("a failed move left something")
	}
	_, _, err = h.Move(t.Context(), "disk", "other")
	if err == nil || !h.exists("disk/taken") {
		t.Errorf("a mounted disk was moved: %v", err)
	}
}

// On a full disk no change leaves half of itself.
func TestRootFullDiskChanges(t *testing.T) {
	h := newYard(t)
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
		t.Errorf("there is room again: %v", err)
	}
}

// A copy on another device keeps out whom the access list of the file kept out.
func TestRootMoveKeepsAccessList(t *testing.T) {
	h := newHouse(t)
	mount(t, h, "disk", "1m")
	put(t, filepath.Join(h.dir, "from", "listed"), "x")
	setACL(t, filepath.Join(h.dir, "from", "listed"), aclName)
	if _, _, err := h.Move(t.Context(), "from", "disk/to"); err != nil {
		t.Fatal(err)
	}
	if got := aclOf(t, filepath.Join(h.dir, "disk", "to", "listed")); got != string(acl()) {
		t.Errorf("list %x", got)
	}
}
