//go:build unix

package policy

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A directory that the user made unreadable is an error: a program could change its mode. One of
// another user is noted. Root reads everything.
func TestSearchClosed(t *testing.T) {
	dir := tempDir(t)
	build(t, dir, "a/.env", "b/x")
	closed := filepath.Join(dir, "a")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(closed, 0o700) })
	got, err := Search(t.Context(), dir, Options{})
	if os.Geteuid() == 0 {
		if err != nil || len(got.Hidden) != 1 {
			t.Errorf("got %+v, %v", got, err)
		}
		return
	}
	var want *ClosedError
	if !errors.As(err, &want) || want.Dir != closed {
		t.Errorf("got %+v, %v", got, err)
	}
	// One that can be listed, but not entered.
	build(t, dir, "b/inner/")
	if err := errors.Join(os.Chmod(closed, 0o700), os.Chmod(filepath.Join(dir, "b"), 0o400)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "b"), 0o700) })
	if got, err := Search(t.Context(), dir, Options{}); !errors.As(err, &want) || want.Dir != filepath.Join(dir, "b/inner") {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Pipes with protected names are protected and never read.
func TestSearchSpecialFiles(t *testing.T) {
	dir := tempDir(t)
	for _, name := range []string{".env", "perstack.toml", ".git"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Search(t.Context(), dir, Options{})
	if err != nil || len(got.Hidden) != 1 || len(got.Frozen) != 2 || len(got.Write) != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}
