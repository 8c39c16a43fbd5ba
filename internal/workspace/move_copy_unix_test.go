//go:build unix

package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
