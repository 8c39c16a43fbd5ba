//go:build root && linux

package restore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/workspace/rewind"
)

// The disk of the workspace, or that of the history, is full when files are restored. Nothing is
// lost, and when there is space, the restore is carried out. The space that is left grows until it is
// enough, so that each step is the one that fails.
func TestRootFullDisk(t *testing.T) {
	for _, place := range []string{"workspace", "history"} {
		t.Run(place, func(t *testing.T) {
			const page = 4096
			failed, begun := 0, 0
			for left := int64(0); ; left += page {
				f := newFixture(t)
				disk := f.dir
				if place == "history" {
					disk = f.stateDir
					f.check(os.MkdirAll(disk, 0o700))
				}
				smallDisk(t, disk)
				f.sh("mkdir d; for f in a d/b d/c; do head -c 20000 /dev/urandom > $f; done; echo mine > mine; ln -s a link")
				before := f.copy()
				f.run("task", func(w *work) {
					w.call(func() { f.sh("echo job > a; rm -r d link; mkdir link; echo job > new") })
				})
				f.sh("echo more >> mine")
				after := f.copy()
				f.check(os.WriteFile(filepath.Join(before, "mine"), []byte("mine\nmore\n"), 0o644))
				filler := fill(t, disk, left)
				err := f.goBack()
				if err == nil {
					f.check(os.Remove(filler))
					f.same(before, fmt.Sprintf("%d bytes are left", left))
					break
				}
				failed++
				when := fmt.Sprintf("%d bytes were left: %v", left, err)
				if !errors.Is(err, unix.ENOSPC) {
					t.Fatal(when)
				}
				if f.read("mine") != "mine\nmore" {
					t.Fatalf("%s: the edit of the user is lost", when)
				}
				switch {
				case !f.begun():
					f.check(os.Remove(filler))
					f.same(after, when) // nothing was changed
					f.check(f.goBack())
				case place == "workspace" && failed%2 == 0: // to take it back needs no space
					begun++
					f.settle(true)
					f.check(os.Remove(filler))
					f.same(after, when)
					continue
				default:
					begun++
					var interrupted *restore.InterruptedError
					if lock, err := restore.Enter(t.Context(), f.stateDir, f.dir); err == nil {
						f.check(lock.Close())
					} else if !errors.As(err, &interrupted) && !errors.Is(err, unix.ENOSPC) {
						t.Fatalf("%s: a job starts: %v", when, err)
					}
					f.check(os.Remove(filler))
					f.settle(false)
				}
				f.same(before, when)
				if staged, err := filepath.Glob(f.path(".perstack-*")); err != nil || len(staged) > 0 {
					t.Fatalf("%s: %v is left, %v", when, staged, err)
				}
			}
			t.Logf("%d restores failed, %d of them after they had begun", failed, begun)
			if failed < 3 || begun == 0 {
				t.Errorf("only %d restores failed, %d of them after they had begun", failed, begun)
			}
		})
	}
}

// goBack restores the first state. Each step of it can fail.
func (f *fixture) goBack() error {
	s, err := restore.Open(f.t.Context(), f.options())
	if err != nil {
		return err
	}
	plan, err := s.Plan(f.t.Context(), s.History.Files()[0], rewind.Options{})
	if err == nil {
		_, err = s.Apply(f.t.Context(), plan)
	}
	return errors.Join(err, s.Close())
}

// smallDisk mounts a file system of 1 MiB.
func smallDisk(t *testing.T, dir string) {
	t.Helper()
	if err := unix.Mount("perstack-test", dir, "tmpfs", 0, "size=1m,mode=755"); err != nil {
		t.Fatalf("mount: %v (this test needs root)", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fill writes a file until only some bytes are left on the disk.
func fill(t *testing.T, disk string, left int64) (name string) {
	t.Helper()
	name = filepath.Join(disk, "filler")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var size int64
	for err = nil; err == nil; {
		var n int
		n, err = f.Write(make([]byte, 4096))
		size += int64(n)
	}
	if !errors.Is(err, unix.ENOSPC) || size < left {
		t.Fatal(size, err)
	}
	if err := f.Truncate(size - left); err != nil {
		t.Fatal(err)
	}
	return name
}
