//go:build root && linux

package file

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/storetest"
)

// smallDisk mounts a file system of 4 MiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("perstack-test", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Fatalf("mount: %v (this test needs root)", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill writes a file until nothing more fits.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{64 << 10, 1 << 10} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
}

// When others fill the disk, the journal refuses ordinary records, still takes the end of the
// run, and continues when there is space again.
func TestRootFullDisk(t *testing.T) {
	disk := smallDisk(t)
	s := New(filepath.Join(disk, "perstack"), nil)
	j := mustOpen(t, s)
	mustAppend(t, j, storetest.Sample("job1")[:10]...)
	if err := j.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(disk, "ballast")
	fill(t, ballast)
	if err := fillUp(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	fill(t, filepath.Join(disk, "more")) // what Close gave back

	n := count(t, s)
	if info, err := s.FindJob(t.Context(), "job1"); err != nil || info.Status != event.JobStoppedByError || info.Interrupted {
		t.Errorf("on the full disk: %+v, %v", info, err)
	}
	for _, id := range []string{"job1", "job2"} {
		if _, err := s.Open(t.Context(), id); !errors.Is(err, store.ErrFull) {
			t.Errorf("Open(%s) on the full disk: %v, want ErrFull", id, err)
		}
	}
	if again := count(t, s); again != n {
		t.Errorf("%d records, want %d", again, n)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	j = mustOpen(t, s)
	mustAppend(t, j, storetest.Sample("job1")...)
	mustClose(t, j)
	if again := count(t, s); again != n+11 {
		t.Errorf("%d records after there was space again, want %d", again, n+11)
	}
	if info, err := s.FindJob(t.Context(), "job1"); err != nil || info.Status != event.JobCompleted {
		t.Errorf("%+v, %v", info, err)
	}
}
