package paths

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/workspace"
)

// open makes a workspace with files.
func open(t *testing.T, files ...string) *workspace.Workspace {
	t.Helper()
	dir := t.TempDir()
	for _, name := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("ignored\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	w, err := workspace.Open(dir, workspace.Options{Protected: []string{filepath.Join(dir, "private")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func TestScan(t *testing.T) {
	w := open(t, "notes.txt", "sub/deep/a.go", ".git/config", "sub/.git/HEAD", ".env", "private/key", ".gitignore", "ignored/x", "名前 1.md")
	want := List{Paths: []string{".gitignore", "notes.txt", "sub/", "sub/deep/", "sub/deep/a.go", "名前 1.md"}}
	got, err := Scan(t.Context(), w)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// A link is not followed, and a name that a terminal would not show as it is cannot be chosen.
func TestScanHostile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such names")
	}
	outside := t.TempDir()
	w := open(t, "a.txt", "bad\x1b[2Jname", "new\nline", "tab\tname", "turned\u202etxt.exe", "bytes\xff")
	for link, target := range map[string]string{"out": outside, "in": "a.txt", "circle": "."} {
		if err := os.Symlink(target, filepath.Join(w.Path(), link)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Scan(t.Context(), w)
	if diff := cmp.Diff(List{Paths: []string{"a.txt"}}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestScanIsCut(t *testing.T) {
	var files []string
	for i := range 5 {
		files = append(files, fmt.Sprint("f", i))
	}
	w := open(t, files...)
	for limit, want := range map[int]List{4: {files[:4], true}, 5: {files, false}, 6: {files, false}} {
		got, err := scan(t.Context(), w, limit)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("at most %d: %v (-want +got):\n%s", limit, err, diff)
		}
	}
}

func TestScanEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Scan(ctx, open(t, "a", "b")); err == nil {
		t.Error("a scan that was cancelled has no error")
	}
}
