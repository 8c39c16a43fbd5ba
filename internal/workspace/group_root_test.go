//go:build root && unix

package workspace

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// If the user who replaces a file may not give it its old group, the new group does not get
// the rights of the old one.
func TestRootReplacedFileOfAnotherGroup(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, err := range []error{
		os.WriteFile(path, []byte("old"), 0o660), os.Chmod(path, 0o660),
		os.Chown(path, 65534, 12345), os.Chmod(dir, 0o777), os.Chown(dir, 65534, 65534), os.Chmod(filepath.Dir(dir), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	// As that user, for all threads of this process.
	for _, become := range []func() error{
		func() error { return syscall.Setgroups([]int{65534}) },
		func() error { return syscall.Setresgid(65534, 65534, 0) },
		func() error { return syscall.Setresuid(65534, 65534, 0) },
	} {
		if err := become(); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		_ = syscall.Setresuid(0, 0, 0)
		_ = syscall.Setresgid(0, 0, 0)
	}()
	if _, err := w.WriteFile(t.Context(), "f", []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Gid == 12345 || info.Mode().Perm() != 0o600 {
		t.Errorf("group %d, mode %v; want another group, which may do nothing", st.Gid, info.Mode())
	}
}
