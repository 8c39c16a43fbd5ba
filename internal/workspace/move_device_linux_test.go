package workspace_test

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/workspace"
)

// A move to another file system is refused with a hint, and leaves the source as it was.
func TestMoveToAnotherDevice(t *testing.T) {
	here := t.TempDir()
	there, err := os.MkdirTemp("/dev/shm", "perstack-test-")
	if err != nil {
		testkit.Missing(t, "a second file system: "+err.Error())
	}
	t.Cleanup(func() { _ = os.RemoveAll(there) })
	if device(t, here) == device(t, there) {
		testkit.Missing(t, "a second file system: /dev/shm is on that of the temporary directory")
	}
	w, err := workspace.Open("/", workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, name := range []string{"file", "dir/file"} {
		put(t, filepath.Join(here, name), "text")
	}
	for _, name := range []string{"file", "dir"} {
		from, to := filepath.Join(here, name), filepath.Join(there, name)
		_, _, err := w.Move(t.Context(), from, to)
		wantCode(t, err, workspace.CrossDevice, "cannot be moved to "+strconv.Quote(to)+": they are on different file systems; write a copy")
		if _, err := os.Lstat(from); err != nil {
			t.Errorf("the source is gone: %v", err)
		}
		if _, err := os.Lstat(to); err == nil {
			t.Errorf("%s was made", to)
		}
	}
}

func device(t *testing.T, path string) uint64 {
	t.Helper()
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return uint64(st.Dev)
}
