package userfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "f"), strings.Repeat("x", 1<<20))
	if data, err := Read(path, 1<<20); err != nil || len(data) != 1<<20 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	for path, want := range map[string]string{
		write(t, path+"2", strings.Repeat("x", 1<<20+1)): "larger than 1 MiB",
		filepath.Dir(path): "not a regular file",
		path + "3":         "no such file or directory",
	} {
		if _, err := Read(path, 1<<20); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
}

// What is taken as the word of the user has no other author.
func TestReadOwn(t *testing.T) {
	dir := t.TempDir()
	path := write(t, filepath.Join(dir, "f"), "mine")
	set := func(path string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	set(dir, 0o700)
	if data, err := ReadOwn(path, 1<<20); err != nil || string(data) != "mine" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := ReadOwn(path+"2", 1<<20); !Absent(err) {
		t.Errorf("no file: %v", err)
	}
	if runtime.GOOS == "windows" {
		return // modes say nothing there
	}
	for _, mode := range []os.FileMode{0o620, 0o602, 0o666} {
		set(path, mode)
		if _, err := ReadOwn(path, 1<<20); !errors.Is(err, ErrShared) {
			t.Errorf("%o: %v", mode, err)
		}
	}
	set(path, 0o644)
	for _, mode := range []os.FileMode{0o720, 0o702, 0o777 | os.ModeSticky} {
		set(dir, mode)
		if _, err := ReadOwn(path, 1<<20); !errors.Is(err, ErrSharedDir) {
			t.Errorf("%o: %v", mode, err)
		}
	}
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What holds for all users is the word of root.
func TestReadRoot(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("owners are not known there")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := write(t, filepath.Join(dir, "f"), "text")
	want := ErrNotRoot
	if os.Geteuid() == 0 {
		want = nil
	}
	if data, err := ReadRoot(path, 1<<20); !errors.Is(err, want) || (err == nil) != (string(data) == "text") {
		t.Errorf("%q, %v, want %v", data, err, want)
	}
	if _, err := ReadRoot(path+"2", 1<<20); !Absent(err) {
		t.Errorf("no file: %v", err)
	}
	if os.Geteuid() != 0 {
		return
	}
	for _, c := range []struct {
		path string
		mode os.FileMode
		want error
	}{{path, 0o664, ErrShared}, {dir, 0o777, ErrSharedDir}} {
		if err := os.Chmod(c.path, c.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRoot(path, 1<<20); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.path, err, c.want)
		}
		if err := os.Chmod(c.path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		path string
		want error
	}{{dir, ErrNotRootDir}, {path, ErrNotRoot}} {
		if err := os.Chown(c.path, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadRoot(path, 1<<20); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.path, err, c.want)
		}
	}
}
