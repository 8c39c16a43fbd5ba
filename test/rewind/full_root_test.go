//go:build root && linux

package rewind

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/history"
)

// Where the disk for snapshots is full, a run continues and says so once, or stops if snapshots are
// required.
func TestRootFullStore(t *testing.T) {
	for _, mode := range []string{"auto", "required"} {
		t.Run(mode, func(t *testing.T) {
			p := newProject(t)
			p.config(fmt.Sprintf("[snapshots]\nmode = %q\n", mode))
			disk := filepath.Join(history.Of(t, p.dir), "files")
			p.check(os.MkdirAll(disk, 0o700))
			p.check(syscall.Mount("none", disk, "tmpfs", 0, "size=256k"))
			t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
			p.sh("head -c 1000000 /dev/urandom > large")
			code, out := p.runOnce([]string{"echo 1 > a", "echo 2 > a"}, "--job-id", jobID)
			const says = "cannot be stored"
			switch {
			case mode == "required" && (code != 3 || !strings.Contains(out, "snapshot")):
				t.Errorf("exit code %d, want 3\n%s", code, out)
			case mode == "required":
				if _, err := os.Stat(filepath.Join(p.ws, "a")); err == nil {
					t.Error("a command ran although no state could be stored")
				}
			case code != 0 || strings.Count(out, says) != 1:
				t.Errorf("exit code %d, and %d messages\n%s", code, strings.Count(out, says), out)
			}
			if left, err := filepath.Glob(filepath.Join(disk, "packs", "*")); err != nil || len(left) > 0 {
				t.Errorf("what was not written to its end is left: %v %v", left, err)
			}
		})
	}
}
