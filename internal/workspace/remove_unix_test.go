//go:build unix

package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

func TestRemoveFile(t *testing.T) {
	h := newFullFixture(t)
	for name, gone := range map[string]string{
		"a.txt": "a.txt", "dirlink/b.txt": "src/b.txt", "in": "in", "dirlink": "dirlink", "dangling": "dangling", "loop": "loop",
		"leak": "leak", "abs": "abs", "p": "p", "g": "g", "pipe": "pipe", "tree/./y/../x": "tree/x", "full/../app/x": "app/x",
	} {
		if name == "dirlink/b.txt" {
			continue // below: the map has no order
		}
		path, err := h.RemoveFile(t.Context(), name)
		if err != nil || path != filepath.Join(h.dir, gone) || h.exists(gone) {
			t.Errorf("%s: %q, %v, exists %t", name, path, err, h.exists(gone))
		}
	}
	if got, err := h.read("src/b.txt"); got != "beta\n" || !h.exists(".git/config") || !h.exists("perstack/jobs/j1") {
		t.Errorf("with the links their targets went: %q, %v", got, err)
	}
	h.link(t, "src", "dirlink")
	if _, err := h.RemoveFile(t.Context(), "dirlink/b.txt"); err != nil || h.exists("src/b.txt") || !h.exists("dirlink") {
		t.Errorf("through a link on the way: %v", err)
	}
	if got, _ := os.ReadFile(filepath.Join(h.outside, "secret.txt")); string(got) != canary {
		t.Errorf("outside is %q", got)
	}
}

// refusals of deleting, with what they have in common.
type refusal struct {
	name     string
	code     workspace.Code
	fragment string
}

func refusedAlways(h *fixture) []refusal {
	return []refusal{
		{"none", workspace.NotFound, "does not exist"},
		{"none/x", workspace.NotFound, "does not exist"},
		{"a.txt/x", workspace.NotADirectory, "is not a directory"},
		{"../outside", workspace.OutsideWorkspace, "path outside"},
		{"../outside/secret.txt", workspace.OutsideWorkspace, "path outside"},
		{h.outside, workspace.OutsideWorkspace, "path outside"},
		{"abs/secret.txt", workspace.OutsideWorkspace, "path outside"},
		{"perstack", workspace.Protected, "is protected"},
		{"PerStack", workspace.Protected, "is protected"},
		{"perstack/jobs", workspace.Protected, "is protected"},
		{"p/jobs", workspace.Protected, "is protected"},
		{"p/jobs/j1", workspace.Protected, "is protected"},
		{"data/store", workspace.Protected, "is protected"},
		{".env", workspace.Protected, "is protected"},
		{".Env", workspace.Protected, "is protected"},
		{"app/.env.local", workspace.Protected, "is protected"},
		{"new/.env", workspace.Protected, "is protected"},
		{"keys.txt", workspace.Protected, "is protected"},
		{"twin", workspace.Protected, "is protected"},
		{"via/dev.secrets", workspace.Protected, "is protected"},
		{".git", workspace.Protected, "is protected"},
		{".g\u200bit", workspace.Protected, "is protected"},
		{"g/config", workspace.Protected, "is protected"},
		{"proj/.git/config", workspace.Protected, "is protected"},
		{"perstack.toml", workspace.NotWritable, "is not writable"},
		{"rules/PERSTACK.lock", workspace.NotWritable, "is not writable"},
		{"\x00", workspace.InvalidPath, "NUL"},
		{".", workspace.Protected, "workspace itself"},
		{"", workspace.Protected, "workspace itself"},
		{"./", workspace.Protected, "workspace itself"},
		{"src/..", workspace.Protected, "workspace itself"},
		{"src/../", workspace.Protected, "workspace itself"},
		{"dirlink/..", workspace.Protected, "workspace itself"},
		{h.dir, workspace.Protected, "workspace itself"},
		{h.dir + "/", workspace.Protected, "workspace itself"},
	}
}

func TestRemoveFileRefused(t *testing.T) {
	h := newFullFixture(t)
	before := h.all(t)
	for _, tt := range append(refusedAlways(h), []refusal{
		{"src", workspace.IsADirectory, "is a directory"},
		{"src/", workspace.IsADirectory, "is a directory"},
		{"tree/y/..", workspace.IsADirectory, "is a directory"},
		{"a.txt/", workspace.NotADirectory, "is not a directory"},
		{"dirlink/", workspace.NotADirectory, "is not a directory"},
		{"ro.txt", workspace.NotWritable, "is not writable: its owner may not write it"},
		{"rodir/x", workspace.NotWritable, "its directory is not writable"},
		{"via", workspace.Protected, "is protected"},
		{"e/x", workspace.Protected, "is protected"},
	}...) {
		path, err := h.RemoveFile(t.Context(), tt.name)
		wantCode(t, err, tt.code, tt.fragment)
		if after := h.all(t); after != before || path != "" {
			t.Fatalf("deleting %q was refused and changed something (%q):\n%s", tt.name, path, after)
		}
	}
}

func TestRemoveDir(t *testing.T) {
	for _, tt := range []struct {
		name      string
		recursive bool
		gone      string
	}{
		{"empty", false, "empty"},
		{"empty/", true, "empty"},
		{"tree", true, "tree"},
		{"tree/y", true, "tree/y"},
		{"src/../tree/y/..", true, "tree"},
		{"hostile", true, "hostile"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newFullFixture(t)
			in := func(name string) string { return filepath.Join(h.dir, "hostile", name) }
			put(t, in("\xff\xfe"), "x")
			put(t, in("-rf\n"), "x")
			put(t, in(strings.Repeat("n", 255)), "x")
			put(t, in(strings.Repeat("d/", 100)+"x"), "x")
			makePipe(t, in("pipe"))
			for i, target := range []string{"../..", "../../outside", h.outside, "..", ".", "nowhere", "../perstack", "../.git"} {
				h.link(t, target, fmt.Sprint("hostile/link", i))
			}
			if tt.gone == "hostile" {
				many := 3000
				if testing.Short() {
					many = 300
				}
				for i := range many {
					put(t, in(fmt.Sprint("many/", i)), "")
				}
			}
			before := h.all(t)
			path, err := h.RemoveDir(t.Context(), tt.name, tt.recursive)
			if err != nil || path != filepath.Join(h.dir, tt.gone) || h.exists(tt.gone) {
				t.Fatalf("%q, %v, exists %t", path, err, h.exists(tt.gone))
			}
			// What is left is what was there, without that directory.
			var want strings.Builder
			for line := range strings.Lines(before) {
				if !strings.HasPrefix(line, `"/ws/`+tt.gone+`"`) && !strings.HasPrefix(line, `"/ws/`+tt.gone+`/`) {
					want.WriteString(line)
				}
			}
			if after := h.all(t); after != want.String() {
				t.Errorf("left:\n%s\nwant:\n%s", after, want.String())
			}
		})
	}
}

func TestRemoveDirRefused(t *testing.T) {
	h := newFullFixture(t)
	put(t, filepath.Join(h.dir, "hard", "sub", "y"), "")
	if err := os.Link(filepath.Join(h.dir, "perstack.toml"), filepath.Join(h.dir, "hard", "sub", "x")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(h.dir, "abyss", strings.Repeat("d/", 130), "x"), "")
	before := h.all(t)
	check := func(tt refusal, recursive bool) {
		t.Helper()
		path, err := h.RemoveDir(t.Context(), tt.name, recursive)
		wantCode(t, err, tt.code, tt.fragment)
		if after := h.all(t); after != before || path != "" {
			t.Fatalf("deleting %q was refused and changed something (%q):\n%s", tt.name, path, after)
		}
	}
	for _, tt := range append(refusedAlways(h), []refusal{
		{"a.txt", workspace.NotADirectory, "is not a directory"},
		{"in", workspace.NotADirectory, "is not a directory"},
		{"dirlink", workspace.NotADirectory, "is not a directory"},
		{"dirlink/", workspace.NotADirectory, "is not a directory"},
		{"abs", workspace.NotADirectory, "is not a directory"},
		{"dangling", workspace.NotADirectory, "is not a directory"},
		{"pipe", workspace.NotADirectory, "is not a directory"},
		{"rodir", workspace.NotWritable, "is not writable"},
		{"nest/rodir", workspace.NotWritable, "is not writable"},
		{"conf", workspace.Protected, "is protected"},
		{"data", workspace.Protected, "is protected"},
		{"rules", workspace.NotWritable, "is not writable"},
	}...) {
		check(tt, false)
		check(tt, true)
	}
	for _, name := range []string{"src", "tree", "tree/y", "app", "proj"} {
		check(refusal{name, workspace.NotEmpty, "is not empty"}, false)
	}
	for _, tt := range []refusal{
		{"full", workspace.NotWritable, "is not writable"},
		{"nest", workspace.NotWritable, "is not writable"},
		{"hard", workspace.NotWritable, "is not writable"},
		{"app", workspace.Protected, "env file"},
		{"proj", workspace.Protected, "git repository"},
		{"abyss", workspace.InvalidPath, "too deep"},
	} {
		check(tt, true)
	}
}

// The storage that a command renamed stays, also as a part of something.
func TestRemoveDirWithMovedStorage(t *testing.T) {
	h := newFixture(t)
	put(t, filepath.Join(h.dir, "box", "x"), "")
	rename(t, filepath.Join(h.dir, "perstack"), filepath.Join(h.dir, "box", "innocent"))
	_, err := h.RemoveDir(t.Context(), "box", true)
	wantCode(t, err, workspace.Protected, "is protected")
	if got, err := os.ReadFile(filepath.Join(h.dir, "box", "innocent", "jobs", "j1")); string(got) != canary || !h.exists("box/x") {
		t.Errorf("%q, %v", got, err)
	}
}

// While trees are deleted, moved and made, another process swaps a directory in them for
// links to the outside and to the storage. Nothing there is touched.
func TestRemoveAndMoveWhileSwapped(t *testing.T) {
	for _, target := range []string{"../../outside", "../perstack", "../src"} {
		t.Run(filepath.Base(target), func(t *testing.T) {
			h := newFixture(t)
			put(t, filepath.Join(h.outside, "deep", "er", "f"), canary)
			in := func(name string) string { return filepath.Join(h.dir, name) }
			h.link(t, target, "link")
			before := tree(t, h.outside) + tree(t, in("perstack")) + tree(t, in("src"))
			stop := make(chan struct{})
			var swapper, users sync.WaitGroup
			swapper.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					_ = os.MkdirAll(in("d/sub/deep"), 0o755)
					_ = os.WriteFile(in("d/sub/deep/f"), nil, 0o644)
					_ = os.WriteFile(in("d/sub/secret.txt"), nil, 0o644)
					_ = os.Symlink("../"+target, in("d/swap"))
					for range 20 {
						exchange(in("d/sub"), in("d/swap"))
					}
				}
			})
			rounds := 300
			if testing.Short() {
				rounds = 60
			}
			users.Go(func() {
				for range rounds {
					h.RemoveDir(t.Context(), "d/sub", true)
					h.RemoveDir(t.Context(), "d", true)
				}
			})
			users.Go(func() {
				for i := range rounds {
					for _, name := range []string{"secret.txt", "jobs", "deep", "b.txt"} {
						to := fmt.Sprint("got", i, name)
						if _, _, err := h.Move(t.Context(), "d/sub/"+name, to); err == nil {
							if text, _ := h.read(to); strings.Contains(text, canary) {
								t.Error("moved out from outside the workspace")
							}
						}
						h.RemoveFile(t.Context(), "d/sub/"+name)
					}
					h.Move(t.Context(), "a.txt", "d/sub/planted")
					h.MakeDir(t.Context(), "d/sub/planted")
					h.AppendFile(t.Context(), "d/sub/secret.txt", []byte("planted"))
					h.Usage(t.Context(), 0)
				}
			})
			users.Wait()
			close(stop)
			swapper.Wait()
			if target == "../src" { // inside: what was done there was allowed
				return
			}
			if after := tree(t, h.outside) + tree(t, in("perstack")) + tree(t, in("src")); after != before {
				t.Errorf("changed outside the workspace:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// A deletion takes the kind of thing that it was asked for, whatever gets the name after
// the last look. Only Linux has a call for each kind; elsewhere the look is part of the
// deletion, so the swap comes before it here, too.
func TestSwappedBeforeRemove(t *testing.T) {
	swap := func(t *testing.T, h *fixture, name, other string) {
		rename(t, h.in(name), h.in("old"))
		rename(t, h.in(other), h.in(name))
	}
	for _, tt := range []struct {
		name, victim, other string
		remove              func(h *fixture) error
		code                workspace.Code
	}{
		{"a directory for a file", "empty", "a.txt",
			func(h *fixture) error { _, err := h.RemoveDir(t.Context(), "empty", false); return err }, workspace.NotADirectory},
		{"a directory for a link", "empty", "in",
			func(h *fixture) error { _, err := h.RemoveDir(t.Context(), "empty", false); return err }, workspace.NotADirectory},
		{"an emptied directory for a file", "empty", "a.txt",
			func(h *fixture) error { _, err := h.RemoveDir(t.Context(), "empty", true); return err }, workspace.Changed},
		{"a directory in a tree for a file", "wood/y", "a.txt",
			func(h *fixture) error { _, err := h.RemoveDir(t.Context(), "wood", true); return err }, workspace.Changed},
		{"a file for an empty directory", "a.txt", "empty",
			func(h *fixture) error { _, err := h.RemoveFile(t.Context(), "a.txt"); return err }, workspace.IsADirectory},
		{"a file in a tree for an empty directory", "forest/z", "empty",
			func(h *fixture) error { _, err := h.RemoveDir(t.Context(), "forest", true); return err }, workspace.Changed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newFullFixture(t)
			put(t, h.in("forest/z"), "z")
			if err := os.MkdirAll(h.in("wood/y"), 0o755); err != nil {
				t.Fatal(err)
			}
			between(h, "remove", 1, func() { swap(t, h, tt.victim, tt.other) })
			wantCode(t, tt.remove(h), tt.code, "")
			if !h.exists(tt.victim) || !h.exists("old") {
				t.Error("what took the name was deleted")
			}
		})
	}
}
