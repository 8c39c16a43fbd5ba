//go:build root && linux

package test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/history"
)

// If the end of a run cannot write what happened to trusted files, the run fails, and the next one
// refuses to start until it can.
func TestRootRecordCannotBeClosed(t *testing.T) {
	disk := t.TempDir()
	dir := planter(t, "echo A=b >.env; cat /dev/zero >"+disk+"/fill; true")
	state := history.Of(t, dir)
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	disk, err := filepath.EvalSymlinks(disk)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{disk, state} {
		source, kind, flags, options := "none", "tmpfs", uintptr(0), "size=64k"
		if at == state { // the same disk, where the script can find it
			source, kind, flags, options = disk, "", syscall.MS_BIND, ""
		}
		if err := syscall.Mount(source, at, kind, flags, options); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) })
	}
	storage := filepath.Join(t.TempDir(), "storage")
	run := func(expert string) (string, int) { return runIn(t, dir, "run", expert, "go", "--storage", storage) }
	if out, code := run("writer"); code != 1 || !strings.Contains(out, "cannot tell whether the run changed files that later runs read") || !strings.Contains(out, "no space left on device") {
		t.Fatalf("%d, %s", code, out)
	}
	if out, code := run("quiet"); code != 2 || !strings.Contains(out, "changed files in "+dir+" that later runs read") {
		t.Errorf("the next run: %d, %s", code, out)
	}
	if err := os.Remove(filepath.Join(disk, "fill")); err != nil {
		t.Fatal(err)
	}
	if out, code := run("quiet"); code != 2 || !strings.Contains(out, ".env did not exist before job") {
		t.Errorf("with space: %d, %s", code, out)
	}
	if out, code := runIn(t, dir, "trust", ".env"); code != 0 {
		t.Errorf("trust: %d, %s", code, out)
	}
	if out, code := run("quiet"); code != 0 {
		t.Errorf("accepted: %d, %s", code, out)
	}
}
