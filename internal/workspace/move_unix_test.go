//go:build unix

package workspace_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

func TestMove(t *testing.T) {
	tests := []struct{ source, destination, from, to string }{
		{"a.txt", "b.txt", "a.txt", "b.txt"},
		{"a.txt", "new/deep/b.txt", "a.txt", "new/deep/b.txt"},
		{"src/../a.txt", "./src/.//a.txt", "a.txt", "src/a.txt"},
		{"dirlink/b.txt", "tree/b.txt", "src/b.txt", "tree/b.txt"},
		{"src/b.txt", "dirlink/c.txt", "src/b.txt", "src/c.txt"},
		{"tree", "src/tree", "tree", "src/tree"},
		{"tree/", "new/tree/", "tree", "new/tree"},
		{"tree/y/..", "forest", "tree", "forest"},
		{"tree/.", "forest", "tree", "forest"},
		{"tree", "trees", "tree", "trees"}, // the one begins with the other
		{"in", "tree/in", "in", "tree/in"},
		{"dirlink", "tree/d", "dirlink", "tree/d"},
		{"dangling", "tree/dangling", "dangling", "tree/dangling"},
		{"loop", "tree/loop", "loop", "tree/loop"},
		{"leak", "tree/leak", "leak", "tree/leak"},
		{"abs", "tree/abs", "abs", "tree/abs"},
		{"pipe", "tree/pipe", "pipe", "tree/pipe"},
		{"full", "filled", "full", "filled"},
		{"a.txt", "a\xff\xfe.txt", "a.txt", "a\xff\xfe.txt"},
		{"a.txt", "tree/perstack", "a.txt", "tree/perstack"},
	}
	for _, tt := range tests {
		t.Run(tt.source+" to "+tt.destination, func(t *testing.T) {
			h := newFullFixture(t)
			describe := func(name string) string {
				path := filepath.Join(h.dir, name)
				info, err := os.Lstat(path)
				if err != nil {
					return "nothing"
				}
				target, _ := os.Readlink(path)
				out := fmt.Sprint(info.Mode(), target)
				if info.Mode().IsRegular() || info.IsDir() {
					out += strings.ReplaceAll(tree(t, path), path, "")
				}
				return out
			}
			before := describe(tt.from)
			from, to, err := h.Move(t.Context(), tt.source, tt.destination)
			if err != nil || from != filepath.Join(h.dir, tt.from) || to != filepath.Join(h.dir, tt.to) {
				t.Fatalf("moved %q to %q, %v", from, to, err)
			}
			if h.exists(tt.from) || describe(tt.to) != before {
				t.Errorf("source %s, destination %q, want %q", describe(tt.from), describe(tt.to), before)
			}
		})
	}
}

func TestMoveRefused(t *testing.T) {
	h := newFullFixture(t)
	tests := []struct {
		source, destination string
		code                workspace.Code
		fragment            string
	}{
		{"none", "x", workspace.NotFound, "does not exist"},
		{"none/x", "new/x", workspace.NotFound, "does not exist"},
		{"a.txt", "src/b.txt", workspace.AlreadyExists, "already exists"},
		{"a.txt", "src", workspace.AlreadyExists, "already exists"},
		{"a.txt", ".", workspace.AlreadyExists, "already exists"},
		{"a.txt", "src/..", workspace.AlreadyExists, "already exists"},
		{"a.txt", "none/..", workspace.NotFound, "does not exist"},
		{"a.txt", "a.txt", workspace.AlreadyExists, "already exists"},
		{"a.txt", "in", workspace.AlreadyExists, "already exists"},
		{"a.txt", "dangling", workspace.AlreadyExists, "already exists"},
		{"a.txt", "leak", workspace.AlreadyExists, "already exists"},
		{"a.txt", "pipe", workspace.AlreadyExists, "already exists"},
		{"tree", "empty", workspace.AlreadyExists, "already exists"},
		{"a.txt/", "x", workspace.NotADirectory, "is not a directory"},
		{"dirlink/", "x", workspace.NotADirectory, "is not a directory"},
		{"a.txt/b", "x", workspace.NotADirectory, "is not a directory"},
		{"a.txt", "src/b.txt/x", workspace.NotADirectory, "is not a directory"},
		{"a.txt", "pipe/x", workspace.NotADirectory, "is not a directory"},
		{"ro.txt", "x", workspace.NotWritable, "is not writable"},
		{"rodir", "x", workspace.NotWritable, "is not writable"},
		{"rodir/x", "x", workspace.NotWritable, "is not writable"},
		{"a.txt", "rodir/a", workspace.NotWritable, "is not writable"},
		{"a.txt", "rodir/new/a", workspace.NotWritable, "is not writable"},
		{".", "x", workspace.Protected, "workspace itself"},
		{"", "x", workspace.Protected, "workspace itself"},
		{"src/..", "x", workspace.Protected, "workspace itself"},
		{h.dir, "x", workspace.Protected, "workspace itself"},
		{"tree", "tree/y/tree", workspace.InvalidPath, "into itself"},
		{"tree", "tree/new/deep/tree", workspace.InvalidPath, "into itself"},
		{"src", "dirlink/new/x", workspace.InvalidPath, "into itself"},
		{"../outside/secret.txt", "x", workspace.OutsideWorkspace, "path outside"},
		{"a.txt", "../outside/x", workspace.OutsideWorkspace, "path outside"},
		{"a.txt", h.outside + "/x", workspace.OutsideWorkspace, "path outside"},
		{"abs/secret.txt", "x", workspace.OutsideWorkspace, "path outside"},
		{"a.txt", "abs/x", workspace.OutsideWorkspace, "path outside"},
		{"a.txt", "abs/new/x", workspace.OutsideWorkspace, "path outside"},
		{"a.txt", "~/x", workspace.OutsideWorkspace, "path outside"},
		{"a\x00", "x", workspace.InvalidPath, "NUL"},
		{"a.txt", "x\x00", workspace.InvalidPath, "NUL"},
		{"a.txt", strings.Repeat("n", 300), workspace.InvalidPath, "too long"},
		{"a.txt", strings.Repeat("d/", 200) + "x", workspace.InvalidPath, "too many directories"},
		{"perstack", "x", workspace.Protected, "is protected"},
		{"PERSTACK", "x", workspace.Protected, "is protected"},
		{"perstack/jobs", "x", workspace.Protected, "is protected"},
		{"p/jobs/j1", "x", workspace.Protected, "is protected"},
		{"p", "perstack/x", workspace.Protected, "is protected"},
		{"a.txt", "perstack/x", workspace.Protected, "is protected"},
		{"a.txt", "p/x", workspace.Protected, "is protected"},
		{"a.txt", "Perstack", workspace.Protected, "is protected"},
		{"a.txt", "src/../perstac\u212a/x", workspace.Protected, "is protected"},
		{"a.txt", "new/../perstack/x", workspace.NotFound, "does not exist"},
		{".env", "x", workspace.Protected, "is protected"},
		{"a.txt", "new/.ENV", workspace.Protected, "is protected"},
		{"a.txt", "new/.ｅｎｖ.local", workspace.Protected, "is protected"},
		{"app/.env.local", "x", workspace.Protected, "is protected"},
		{"keys.txt", "x", workspace.Protected, "is protected"},
		{"twin", "x", workspace.Protected, "is protected"},
		{"conf/dev.secrets", "x", workspace.Protected, "is protected"},
		{"via/dev.secrets", "x", workspace.Protected, "is protected"},
		{"conf", "x", workspace.Protected, "is protected"},
		{"via", "x", workspace.Protected, "is protected"},
		{"data", "x", workspace.Protected, "is protected"},
		{"data/store", "x", workspace.Protected, "is protected"},
		{".git", "x", workspace.Protected, "is protected"},
		{".git/config", "x", workspace.Protected, "is protected"},
		{"g/config", "x", workspace.Protected, "is protected"},
		{"proj/.git", "x", workspace.Protected, "is protected"},
		{"tree", "new/.Git", workspace.Protected, "is protected"},
		{"a.txt", "g/hooks/pre-commit", workspace.Protected, "is protected"},
		{"perstack.toml", "x", workspace.NotWritable, "is not writable"},
		{"Perstack.TOML", "x", workspace.NotWritable, "is not writable"},
		{"a.txt", "perstack.lock", workspace.NotWritable, "is not writable"},
		{"rules", "x", workspace.NotWritable, "is not writable"},
		{"app", "x", workspace.Protected, "contains an env file"},
		{"proj", "x", workspace.Protected, "contains a git repository"},
		{"rules/perstack.lock", "x", workspace.NotWritable, "is not writable"},
	}
	before := h.all(t)
	for _, tt := range tests {
		from, to, err := h.Move(t.Context(), tt.source, tt.destination)
		wantCode(t, err, tt.code, tt.fragment)
		if from != "" || to != "" {
			t.Errorf("refused, and said to have moved %q to %q", from, to)
		}
		if after := h.all(t); after != before {
			t.Fatalf("moving %q to %q was refused and changed something:\n%s\nbefore:\n%s", tt.source, tt.destination, after, before)
		}
	}
}

// A directory with something in it that must stay is neither moved nor deleted, however deep it
// lies, and whether the options name it or its name tells.
func TestDirectoryAroundProtected(t *testing.T) {
	for _, name := range []string{".env", ".Env.production", "perstack.toml", "perstack.lock", "keys", "twin", "old/jobs/j/journal.jsonl", ".git/config"} {
		h := newFixture(t)
		in := func(name string) string { return filepath.Join(h.dir, name) }
		put(t, in("a/b/c/d/"+name), "stay")
		opts := workspace.Options{
			Protected: []string{in("a/b/c/d/keys"), in("a/b/c/d/old"), in("keys.txt")},
			ReadOnly:  []string{in("a/b/c/d/perstack.toml"), in("a/b/c/d/perstack.lock")},
		}
		if name == "twin" { // another name of a protected file
			if err := os.Remove(in("a/b/c/d/twin")); err != nil {
				t.Fatal(err)
			}
			if err := os.Link(in("keys.txt"), in("a/b/c/d/twin")); err != nil {
				t.Fatal(err)
			}
		}
		if name == "twin" || strings.HasPrefix(name, ".") {
			opts.Protected, opts.ReadOnly = opts.Protected[2:], nil // their routes would be enough
		}
		w, err := workspace.Open(h.dir, opts)
		if err != nil {
			t.Fatal(err)
		}
		before := h.all(t)
		for _, dir := range []string{"a", "a/b", "a/b/c", "a/b/c/d", "a/b/.", "src/../a"} {
			for _, to := range []string{"x", "src/x", "a2/b/c/x"} {
				if _, _, err := w.Move(t.Context(), dir, to); !isCode(err, workspace.Protected) && !isCode(err, workspace.NotWritable) {
					t.Errorf("%s was moved with %s: %v", dir, name, err)
				}
			}
			if _, err := w.RemoveDir(t.Context(), dir, true); !isCode(err, workspace.Protected) && !isCode(err, workspace.NotWritable) {
				t.Errorf("%s was deleted with %s: %v", dir, name, err)
			}
		}
		if after := h.all(t); after != before {
			t.Errorf("with %s, refused calls changed something:\n%s\nbefore:\n%s", name, after, before)
		}
		w.Close()
	}
}

// A directory that would bring its files to a protected place is refused, though
// nothing is there yet.
func TestMoveToProtectedPlace(t *testing.T) {
	h := newFixture(t)
	put(t, filepath.Join(h.dir, "evil", "perstack.toml"), "exec for all")
	put(t, filepath.Join(h.dir, "evil", "store", "jobs", "j", "job.json"), "planted")
	h.link(t, "evil", "evilLink")
	w, err := workspace.Open(h.dir, workspace.Options{
		Protected: []string{filepath.Join(h.dir, "later", "store")}, ReadOnly: []string{filepath.Join(h.dir, "team", "perstack.toml")},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, source := range []string{"evil", "evilLink"} {
		_, _, err := w.Move(t.Context(), source, "Later")
		wantCode(t, err, workspace.Protected, "is protected")
		_, _, err = w.Move(t.Context(), source, "team")
		wantCode(t, err, workspace.NotWritable, "is not writable")
	}
}

// Of many that want one name, one gets it, and the others keep what they had.
func TestMoveParallel(t *testing.T) {
	h := newFixture(t)
	const n = 50
	for i := range n {
		put(t, filepath.Join(h.dir, "from", fmt.Sprint(i)), fmt.Sprint(i))
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			_, _, err := h.Move(t.Context(), fmt.Sprint("from/", i), "to/one")
			if err != nil && !isCode(err, workspace.AlreadyExists) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	left, err := os.ReadDir(filepath.Join(h.dir, "from"))
	if err != nil || len(left) != n-1 {
		t.Errorf("%d of %d are left, %v", len(left), n, err)
	}
	if got, err := h.read("to/one"); err != nil || h.exists("from/"+got) {
		t.Errorf("the one that moved is %q, %v", got, err)
	}
}

// Files and directories that are moved in circles, while others write below them, are
// neither lost nor doubled, and no call waits for ever.
func TestMoveInCircles(t *testing.T) {
	h := newFixture(t)
	put(t, filepath.Join(h.dir, "d", "f"), "")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				for _, pair := range [][2]string{{"a.txt", "b.txt"}, {"b.txt", "a.txt"}, {"d", "e"}, {"e", "d"}} {
					if _, _, err := h.Move(t.Context(), pair[0], pair[1]); err != nil && !isCode(err, workspace.NotFound) && !isCode(err, workspace.AlreadyExists) {
						t.Error(err)
					}
				}
			}
		})
	}
	written := make([]int, 4)
	for i := range written {
		wg.Go(func() {
			for n := range 100 {
				_, err := h.AppendFile(t.Context(), []string{"d/f", "e/f"}[n%2], []byte("x"))
				if err == nil {
					written[i]++
				} else if !isCode(err, workspace.NotFound) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if h.exists("a.txt") == h.exists("b.txt") || h.exists("d") == h.exists("e") {
		t.Errorf("lost or doubled:\n%s", h.all(t))
	}
	text, err := h.read("d/f")
	if err != nil {
		text, err = h.read("e/f")
	}
	if want := written[0] + written[1] + written[2] + written[3]; len(text) != want || err != nil {
		t.Errorf("%d bytes of %d, %v", len(text), want, err)
	}
}

// The rename itself replaces nothing, also where the file system cannot do that in one
// step: between the look and the rename others may take the name.
func TestRenameReplacesNothing(t *testing.T) {
	for _, slowly := range []bool{false, true} {
		t.Run(fmt.Sprintf("slowly %t", slowly), func(t *testing.T) {
			h := newFullFixture(t)
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
