//go:build root && linux

package restore_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/workspace/rewind"
)

// On a file system that takes Foo and foo for the same name, the one does not destroy the other.
func TestRootFoldingFileSystem(t *testing.T) {
	t.Run("renamed by the job", func(t *testing.T) {
		f := newFixture(t)
		remount := foldingDisk(t, f.dir)
		f.sh("echo old > Foo; mkdir Dir; echo old > Dir/a")
		before := f.copy()
		f.run("task", func(w *work) {
			w.call(func() { f.sh("mv Foo x; mv x foo; echo job > foo; mv Dir y; mv y dir; mv dir/a dir/z; mv dir/z dir/A") })
		})
		after := f.copy()
		remount()
		result, err := f.undo(rewind.Options{})
		f.check(err)
		f.same(before, "undone")
		remount()
		_, err = f.restore(restore.Name(result.Safety), rewind.Options{})
		f.check(err)
		f.same(after, "back again")
	})
	t.Run("made by the user", func(t *testing.T) {
		f := newFixture(t)
		foldingDisk(t, f.dir)
		f.sh("echo old > Foo; mkdir Dir; echo old > Dir/a; echo old > other")
		f.run("task", func(w *work) { w.call(func() { f.sh("rm -r Foo Dir; echo job > other") }) })
		f.sh("echo mine > foo; mkdir dir; echo mine > dir/A")
		result, err := f.restore(restore.Name(f.firstState()), rewind.Options{})
		f.check(err)
		var skipped []string
		for _, s := range result.Skipped {
			skipped = append(skipped, s.Path)
		}
		if diff := cmp.Diff([]string{"Dir", "Dir/a", "Foo"}, skipped); diff != "" {
			t.Errorf("skipped:\n%s", diff)
		}
		if got := f.output("cat foo dir/A other; ls -d *oo *ir dir/*"); got != "mine\nmine\nold\ndir\ndir/A\nfoo\n" {
			t.Errorf("%s", got)
		}
	})
	t.Run("from another file system", func(t *testing.T) {
		f := newFixture(t)
		f.sh("echo upper > Foo; echo lower > foo; echo old > other")
		f.run("task", func(w *work) { w.call(func() { f.sh("rm Foo foo; echo job > other") }) })
		f.sh("rm other")
		foldingDisk(t, f.dir)
		f.sh("echo job > other")
		result, err := f.restore(restore.Name(f.firstState()), rewind.Options{Exact: true})
		f.check(err)
		if len(result.Skipped) != 1 || result.Skipped[0].Path != "foo" {
			t.Errorf("skipped %v", result.Skipped)
		}
		if got := f.output("ls; cat foo other"); got != "Foo\nother\nupper\nold\n" {
			t.Errorf("%s", got)
		}
	})
}

// firstState is the state before the first Run.
func (f *fixture) firstState() engine.FileState {
	f.t.Helper()
	h, err := engine.Load(f.t.Context(), f.journals(), jobID)
	f.check(err)
	return h.Files()[0]
}

// foldingDisk mounts a file system that compares names without case, and keeps the case that they
// were given. Its driver remembers files by all names that were used, even if they are gone; remount
// makes it forget them.
func foldingDisk(t *testing.T, dir string) (remount func()) {
	t.Helper()
	testkit.Need(t, "mkfs.exfat", "mount.exfat-fuse", "losetup")
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s(this test needs root)", name, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	image := filepath.Join(t.TempDir(), "image")
	if err := errors.Join(os.WriteFile(image, nil, 0o600), os.Truncate(image, 16<<20)); err != nil {
		t.Fatal(err)
	}
	run("mkfs.exfat", image)
	device := run("losetup", "--find", "--show", image)
	t.Cleanup(func() { run("losetup", "--detach", device) })
	mount := func() { run("mount.exfat-fuse", device, dir) }
	unmount := func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Fatal(err)
		}
	}
	mount()
	t.Cleanup(unmount)
	return func() { unmount(); mount() }
}
