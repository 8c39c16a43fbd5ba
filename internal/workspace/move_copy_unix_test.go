//go:build unix

package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/workspace"
)

// To another device a tree is copied, with modes, times and links as they are, and then
// the source is gone.
func TestMoveByCopy(t *testing.T) {
	for _, source := range []string{"tree", "a.txt", "in", "leak", "app", "proj", "full"} {
		t.Run(source, func(t *testing.T) {
			h := newYard(t)
			in := func(name string) string { return filepath.Join(h.dir, name) }
			put(t, in("tree/\xff\xfe"), "x")
			put(t, in("tree/big"), strings.Repeat("x", 3<<20))
			h.link(t, h.outside, "tree/out")
			h.link(t, "..", "tree/up")
			past := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
			for name, mode := range map[string]os.FileMode{"a.txt": 0o751, "tree/x": 0o400, "tree/y": 0o700} {
				if err := os.Chmod(in(name), mode); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(in(name), past, past); err != nil {
					t.Fatal(err)
				}
			}
			before := h.all(t)
			if err := h.MoveByCopy(t.Context(), source, "got"); err != nil {
				t.Fatal(err)
			}
			if h.exists(source) {
				t.Error("the source is still there")
			}
			rename(t, in("got"), in(source))
			if after := h.all(t); after != before {
				t.Errorf("copied:\n%s\nbefore:\n%s", after, before)
			}
			for _, name := range []string{"a.txt", "tree/x", "tree/y"} {
				if info, err := os.Lstat(in(name)); err != nil || !info.ModTime().Equal(past) {
					t.Errorf("%s: time %v, %v", name, info.ModTime(), err)
				}
			}
		})
	}
}

// A copy that fails leaves the source and nothing else.
func TestMoveByCopyRefused(t *testing.T) {
	h := newYard(t)
	in := func(name string) string { return filepath.Join(h.dir, name) }
	put(t, in("piped/x"), "x")
	makePipe(t, in("piped/pipe"))
	put(t, in("linked/x"), "x")
	if err := os.Link(in("app/.env.local"), in("linked/innocent")); err != nil {
		t.Fatal(err)
	}
	put(t, in("keyed/x"), "x")
	if err := os.Link(in("keys.txt"), in("keyed/innocent")); err != nil {
		t.Fatal(err)
	}
	put(t, in("huge/x"), "x")
	if err := os.WriteFile(in("huge/hole"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(in("huge/hole"), 5<<30); err != nil {
		t.Fatal(err)
	}
	put(t, in("abyss/"+strings.Repeat("d/", 130)+"x"), "")
	state := func() string {
		// Not its content: it is too large to be read again and again.
		if err := os.Chmod(in("huge/hole"), 0o644); err != nil {
			t.Fatal(err)
		}
		return tree(t, h.outside) + names(t, h.dir)
	}
	before := state()
	for _, tt := range []refusal{
		{"piped", workspace.NotRegular, "pipe"},
		{"pipe", workspace.NotRegular, "pipe"},
		{"linked", workspace.Protected, "several names"},
		{"keyed", workspace.Protected, "is protected"},
		{"nest", workspace.NotWritable, "is not writable"},
		{"huge", workspace.TooLarge, "is too large"},
		{"abyss", workspace.InvalidPath, "too deep"},
		{"rules", workspace.NotWritable, "is not writable"},
	} {
		wantCode(t, h.MoveByCopy(t.Context(), tt.name, "got"), tt.code, tt.fragment)
		if after := state(); after != before {
			t.Fatalf("%s was refused and changed something:\n%s\nbefore:\n%s", tt.name, after, before)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantCode(t, h.MoveByCopy(ctx, "tree", "got"), workspace.Interrupted, "interrupted")
}

// names lists names and modes below dir.
func names(t testing.TB, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			out.WriteString(path + " " + d.Type().String() + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The rename itself replaces nothing, also where the file system cannot do that in one
// step: between the look and the rename others may take the name.
func TestRenameReplacesNothing(t *testing.T) {
	for _, slowly := range []bool{false, true} {
		t.Run(fmt.Sprintf("slowly %t", slowly), func(t *testing.T) {
			h := newYard(t)
			move := func(old, name string) error {
				return workspace.Rename(h.dir, old, name, old == "tree", slowly)
			}
			before := h.all(t)
			for _, pair := range [][2]string{
				{"a.txt", "ro.txt"}, {"a.txt", "in"}, {"a.txt", "empty"}, {"a.txt", "dangling"},
				{"tree", "empty"}, {"tree", "src"}, {"tree", "a.txt"}, {"tree", "dangling"},
			} {
				if err := move(pair[0], pair[1]); !errors.Is(err, fs.ErrExist) {
					t.Errorf("%s to %s: %v", pair[0], pair[1], err)
				}
			}
			if err := move("tree", "tree/new"); err == nil {
				t.Error("a directory was moved into itself")
			}
			if after := h.all(t); after != before {
				t.Errorf("refused, and changed something:\n%s", after)
			}
			for _, name := range []string{"a.txt", "dangling", "leak", "tree"} {
				if err := move(name, name+".moved"); err != nil || h.exists(name) || !h.exists(name+".moved") {
					t.Errorf("%s: %v", name, err)
				}
			}
			if got, _ := os.ReadFile(filepath.Join(h.dir, "tree.moved", "y", "z")); string(got) != "z" {
				t.Errorf("the directory holds %q", got)
			}
		})
	}
}

// What others write into the source after it was copied is in neither place if it is
// deleted with the rest. So it stays, and so does the copy.
func TestMoveByCopyKeepsWhatChanged(t *testing.T) {
	past := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	write := func(t *testing.T, path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name, source, point string
		change              func(t *testing.T, h *house)
		kept                map[string]string // what the source must have
	}{
		{"a file is added", "tree", "copied", func(t *testing.T, h *house) { put(t, h.in("tree/y/late"), "late") },
			map[string]string{"tree/y/late": "late", "tree/x": "x", "tree/y/z": "z"}},
		{"a directory is added", "tree", "copied", func(t *testing.T, h *house) { put(t, h.in("tree/new/late"), "late") },
			map[string]string{"tree/new/late": "late", "tree/x": "x", "tree/y/z": "z"}},
		{"a file is written", "tree", "copied", func(t *testing.T, h *house) { write(t, h.in("tree/y/z"), "Z") },
			map[string]string{"tree/x": "x", "tree/y/z": "Z"}},
		{"a file is replaced", "tree", "copied", func(t *testing.T, h *house) {
			write(t, h.in("new"), "Z")
			rename(t, h.in("new"), h.in("tree/y/z"))
		}, map[string]string{"tree/x": "x", "tree/y/z": "Z"}},
		{"a file is renamed", "tree", "copied", func(t *testing.T, h *house) { rename(t, h.in("tree/y/z"), h.in("tree/y/other")) },
			map[string]string{"tree/x": "x", "tree/y/other": "z"}},
		{"a directory is replaced", "tree", "copied", func(t *testing.T, h *house) {
			rename(t, h.in("tree/y"), h.in("old"))
			put(t, h.in("tree/y/z"), "Z")
		}, map[string]string{"tree/x": "x", "tree/y/z": "Z"}},
		{"a single file is written", "a.txt", "copied", func(t *testing.T, h *house) { write(t, h.in("a.txt"), "new") },
			map[string]string{"a.txt": "new"}},
		{"files are added during the deletion", "tree", "remove", func(t *testing.T, h *house) {
			put(t, h.in("tree/late"), "late")
			put(t, h.in("tree/y/late"), "late")
		}, map[string]string{"tree/late": "late", "tree/y/late": "late"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newYard(t)
			between(h, tt.point, 1, func() { tt.change(t, h) })
			wantCode(t, h.MoveByCopy(t.Context(), tt.source, "got"), workspace.Changed, "the copy is complete")
			for name, want := range tt.kept {
				if got := h.content(t, name); got != want {
					t.Errorf("%s has %q, want %q", name, got, want)
				}
			}
			if tt.source == "tree" && h.content(t, "got/x")+h.content(t, "got/y/z") != "xz" {
				t.Error("the copy is not complete")
			}
		})
	}
	// A write that keeps the size and sets the time back shows where the system tells
	// when a file was changed in any way.
	if runtime.GOOS == "linux" {
		h := newYard(t)
		if err := os.Chtimes(h.in("tree/x"), past, past); err != nil {
			t.Fatal(err)
		}
		between(h, "copied", 1, func() {
			write(t, h.in("tree/x"), "X")
			if err := os.Chtimes(h.in("tree/x"), past, past); err != nil {
				t.Fatal(err)
			}
		})
		wantCode(t, h.MoveByCopy(t.Context(), "tree", "got"), workspace.Changed, "both the old and the new")
		if got := h.content(t, "tree/x"); got != "X" {
			t.Errorf("it has %q", got)
		}
	}
}

// The deletion of one name of a link is no change of the other.
func TestMoveByCopyLinkWithTwoNames(t *testing.T) {
	h := newYard(t)
	h.link(t, "x", "tree/one")
	if err := os.Link(h.in("tree/one"), h.in("tree/two")); err != nil {
		t.Fatal(err)
	}
	if err := h.MoveByCopy(t.Context(), "tree", "got"); err != nil || h.exists("tree") || !h.exists("got/one") || !h.exists("got/two") {
		t.Error(err)
	}
}
