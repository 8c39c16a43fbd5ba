//go:build root && unix

package userfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A file in a directory of another user can be replaced by that user. Root is trusted.
func TestRootForeignDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Fatal("this test runs as root")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := write(t, filepath.Join(dir, "f"), "mine")
	if _, err := ReadOwn(path, 1<<20); err != nil {
		t.Error(err)
	}
	if err := os.Chown(dir, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadOwn(path, 1<<20); !errors.Is(err, ErrForeignDir) {
		t.Errorf("%v, want %v", err, ErrForeignDir)
	}
}
