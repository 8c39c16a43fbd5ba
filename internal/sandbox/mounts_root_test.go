//go:build root && linux

package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/expert"
)

// A file system that is mounted in the workspace is part of it, with the same restrictions.
func TestRootInsideNestedMounts(t *testing.T) {
	c := inside(t, shell(t, `cat disk/a; grep /disk /proc/self/mountinfo`))
	disk := filepath.Join(c.Dir, "disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", disk, "tmpfs", 0, "size=1m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	write(t, filepath.Join(disk, "a"), "on it\n")
	c.Policy.Workspace.Right = expert.WorkspaceRead
	got := said(t, supervisor(t), c)
	if !strings.HasPrefix(got, "on it\n") || !strings.Contains(got, " ro,nosuid,nodev") {
		t.Errorf("inside: %s", got)
	}
}
