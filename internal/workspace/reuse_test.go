package workspace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/workspace"
)

// The directories of the last walk stay open, which makes no difference: every name is
// looked up again, and the guard is asked again.
func TestPathIsLookedUpAgain(t *testing.T) {
	h := newFixture(t)
	in := func(name string) string { return filepath.Join(h.dir, name) }
	put(t, in("a/b/c/f"), "one")
	put(t, in("a/b/c/g"), "two")
	want := func(name, text string) {
		t.Helper()
		for range 2 {
			if got, err := h.read(name); got != text {
				t.Fatalf("read %s: %q, %v; want %q", name, got, err, text)
			}
		}
	}
	refused := func(name string, code workspace.Code) {
		t.Helper()
		for range 2 {
			_, err := h.read(name)
			wantCode(t, err, code, "")
		}
	}
	want("a/b/c/f", "one")
	want("a/b/c/g", "two")
	want("a/b/../b/c/f", "one")

	rename(t, in("a/b"), in("a/away"))
	refused("a/b/c/f", workspace.NotFound)
	put(t, in("a/b/c/f"), "other")
	want("a/b/c/f", "other")
	want("a/away/c/f", "one")

	rename(t, in("a/b"), in("a/away2"))
	h.link(t, "away", "a/b")
	want("a/b/c/f", "one")
	if err := os.Remove(in("a/b")); err != nil {
		t.Fatal(err)
	}
	h.link(t, "../../outside", "a/b")
	refused("a/b/secret.txt", workspace.OutsideWorkspace)
	if err := os.Remove(in("a/b")); err != nil {
		t.Fatal(err)
	}
	put(t, in("a/b"), "a file")
	refused("a/b/c/f", workspace.NotADirectory)
	want("a/b", "a file")

	want("a/away/c/f", "one")
	rename(t, in("a/away"), in("gone"))
	rename(t, in("perstack"), in("a/away"))
	refused("a/away/jobs/j1", workspace.Protected)
}

// A workspace can be closed while it is used. What was begun comes to an end, and no
// file stays open.
func TestCloseWhileUsed(t *testing.T) {
	opened := func() int {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			testkit.Missing(t, "/proc")
		}
		return len(fds)
	}
	top := newFixture(t)
	put(t, filepath.Join(top.dir, "x", "y", "f"), "inside")
	before := opened()
	for range 50 {
		h := open(t, top.dir, filepath.Join(top.dir, "perstack"))
		var users sync.WaitGroup
		for range 4 {
			users.Go(func() {
				for {
					text, err := h.read("x/y/f")
					if err != nil {
						if !errors.Is(err, fs.ErrClosed) {
							t.Error(err)
						}
						return
					}
					if text != "inside" {
						t.Errorf("read %q", text)
					}
				}
			})
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		users.Wait()
		if err := h.Close(); err != nil {
			t.Errorf("second close: %v", err)
		}
	}
	if after := opened(); after != before {
		t.Errorf("%d files open before, %d after", before, after)
	}
}

// A file can be read to its end and beyond, and not after it was closed.
func TestFileReadsOn(t *testing.T) {
	h := newFixture(t)
	f, err := h.OpenFile(t.Context(), "a.txt")
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	read := func() string {
		n, _ := f.Read(buf)
		return string(buf[:n])
	}
	if got := read(); got != "alpha\n" {
		t.Errorf("read %q", got)
	}
	if got := read(); got != "" {
		t.Errorf("read %q at the end", got)
	}
	put(t, filepath.Join(h.dir, "a.txt"), "alpha\nomega\n")
	if got := read(); got != "omega\n" {
		t.Errorf("read %q of what was appended", got)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := f.Read(buf); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("read after close: %v", err)
	}
	if err := f.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("second close: %v", err)
	}
}
