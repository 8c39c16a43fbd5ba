//go:build unix

package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

func TestMakeDir(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	h := newFullFixture(t)
	for name, made := range map[string]string{
		"one": "one", "two/": "two", "a/b/c": "a/b/c", "dirlink/x": "src/x", "src/../y": "y", "\xff": "\xff", "tree/perstack": "tree/perstack",
		filepath.Join(h.dir, "abs1"): "abs1", "./dot/.": "dot",
	} {
		path, err := h.MakeDir(t.Context(), name)
		info, serr := os.Lstat(filepath.Join(h.dir, made))
		if err != nil || path != filepath.Join(h.dir, made) || serr != nil || !info.IsDir() || info.Mode().Perm() != 0o750 {
			t.Errorf("%q: %q, %v, %v", name, path, err, serr)
		}
	}
}

func TestMakeDirRefused(t *testing.T) {
	h := newFullFixture(t)
	in := func(name string) string { return filepath.Join(h.dir, name) }
	put(t, in("locked/x"), "")
	if err := os.Chmod(in("locked/x"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := h.all(t)
	if err := os.Chmod(in("locked"), 0o444); err != nil { // B15
		t.Fatal(err)
	}
	defer os.Chmod(in("locked"), 0o755)
	for _, tt := range []refusal{
		{"src", workspace.AlreadyExists, "already exists"},
		{"src/", workspace.AlreadyExists, "already exists"},
		{"a.txt", workspace.AlreadyExists, "already exists"},
		{"in", workspace.AlreadyExists, "already exists"},
		{"dangling", workspace.AlreadyExists, "already exists"},
		{"leak", workspace.AlreadyExists, "already exists"},
		{"pipe", workspace.AlreadyExists, "already exists"},
		{".", workspace.AlreadyExists, "already exists"},
		{"", workspace.AlreadyExists, "already exists"},
		{"tree/y/..", workspace.AlreadyExists, "already exists"},
		{"tree/..", workspace.AlreadyExists, "already exists"},
		{"none/..", workspace.NotFound, "does not exist"},
		{"none/../x", workspace.NotFound, "does not exist"},
		{"dangling/x", workspace.NotFound, "symbolic link"},
		{"a.txt/x", workspace.NotADirectory, "is not a directory"},
		{"pipe/x", workspace.NotADirectory, "is not a directory"},
		{"rodir/new", workspace.NotWritable, "is not writable"},
		{"rodir/new/deep", workspace.NotWritable, "is not writable"},
		{"locked/new", workspace.NotWritable, "is not writable"},
		{"../new", workspace.OutsideWorkspace, "path outside"},
		{"abs/new", workspace.OutsideWorkspace, "path outside"},
		{"~/new", workspace.OutsideWorkspace, "path outside"},
		{"perstack/new", workspace.Protected, "is protected"},
		{"p/new", workspace.Protected, "is protected"},
		{"PERSTACK", workspace.Protected, "is protected"},
		{"new/.env", workspace.Protected, "is protected"},
		{"new/.git/hooks", workspace.Protected, "is protected"},
		{"g/hooks", workspace.Protected, "is protected"},
		{"perstack.lock", workspace.NotWritable, "is not writable"},
		{strings.Repeat("d/", 200), workspace.InvalidPath, "too many directories"},
		{"x\x00", workspace.InvalidPath, "NUL"},
	} {
		path, err := h.MakeDir(t.Context(), tt.name)
		wantCode(t, err, tt.code, tt.fragment)
		if path != "" {
			t.Errorf("refused, and said to have made %q", path)
		}
	}
	if err := os.Chmod(in("locked"), 0o755); err != nil {
		t.Fatal(err)
	}
	if after := h.all(t); after != before {
		t.Errorf("refusals left something:\n%s\nbefore:\n%s", after, before)
	}
}

// Of many that make one directory, one did it.
func TestMakeDirParallel(t *testing.T) {
	h := newFixture(t)
	var wg sync.WaitGroup
	made := make([]bool, 50)
	for i := range made {
		wg.Go(func() {
			_, err := h.MakeDir(t.Context(), "x/y/z")
			made[i] = err == nil
			if err != nil && !isCode(err, workspace.AlreadyExists) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	n := 0
	for _, m := range made {
		if m {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d calls made it", n)
	}
}
