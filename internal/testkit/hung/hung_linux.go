// Package hung mounts a file system that never answers, as one of a network whose server is
// gone. Every call about a name in it waits until the test ends.
//
// It is a FUSE file system whose requests are never read. Start reading at [Mount].
package hung

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/testkit"
)

// Mount returns a directory in which looking at any name waits. Only root can mount it.
func Mount(t *testing.T) string {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		testkit.Missing(t, fmt.Sprintf("/dev/fuse: %v", err))
	}
	dir := filepath.Join(t.TempDir(), "hung")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,allow_other", fd, os.Getuid(), os.Getgid())
	if err := unix.Mount("hung", dir, "fuse.hung", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		unix.Close(fd)
		testkit.Missing(t, fmt.Sprintf("mount a file system: %v", err))
	}
	t.Cleanup(func() {
		// Closing the descriptor ends all calls that wait.
		if err := unix.Close(fd); err != nil {
			t.Error(err)
		}
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}
