//go:build unix

package policy

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// What a skill leaves is removed however it looks: deeper than there are open files and
// than a path is long, wide, closed to its owner, with links out of it, which stay whole.
func TestRemoveTree(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(outside, 0o750); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "sandbox")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	depth := 5000 // a path of 10000 bytes; twice what one can have
	if testing.Short() {
		depth = 2200
	}
	for range depth {
		if err := unix.Mkdirat(fd, "d", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Symlinkat(outside, fd, "link"); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(fd, "d", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		unix.Close(fd)
		fd = next
	}
	unix.Close(fd)
	for i := range 2 * batch {
		if err := os.WriteFile(filepath.Join(dir, "d", strconv.Itoa(i)), nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "shut"), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "d/d"), 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0); err != nil {
		t.Fatal(err)
	}
	// Fewer files than levels, as for a process that has most of them in use.
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	few := limit
	few.Cur = min(few.Cur, 500)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit) }()
	if err := RemoveTree(dir); err != nil {
		t.Errorf("%.200v", err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("it is still there")
	}
	info, err := os.Stat(outside)
	if _, kept := os.Stat(filepath.Join(outside, "kept")); err != nil || kept != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("what a link leads to: %v, %v, %v", info.Mode(), err, kept)
	}
	if err := RemoveTree(dir); err != nil {
		t.Errorf("a second time: %v", err)
	}
}
