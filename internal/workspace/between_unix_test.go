//go:build unix

package workspace_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

// between calls do at the nth time that h comes to a point of its work, and never again:
// what another process would have to hit by luck happens between a look and the use.
func between(h *fixture, point string, nth int, do func()) {
	seen := 0
	h.Trace(func(what string) {
		if what != point {
			return
		}
		if seen++; seen == nth {
			do()
		}
	})
}

// in returns the path of a name in the workspace.
func (h *fixture) in(name string) string { return filepath.Join(h.dir, name) }

// content returns what a file has, without any check.
func (h *fixture) content(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(h.in(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// slip puts the protected keys.txt in the place of a.txt. Its own name leads there, so it
// stays protected when the call looks again.
func (h *fixture) slip(t *testing.T) {
	t.Helper()
	rename(t, h.in("keys.txt"), h.in("a.txt"))
	h.link(t, "a.txt", "keys.txt")
}

// A directory of the last walk that has become protected is refused, although it is
// open and its name still leads to it.
func TestKnownDirectoryBecomesProtected(t *testing.T) {
	top := newFixture(t)
	for name, become := range map[string]func(h *fixture){
		"by a link": func(h *fixture) { h.link(t, "src", "store") },
		"by a rename that is undone": func(h *fixture) {
			looked := false
			h.Trace(func(what string) {
				switch {
				case what == "watch" && !looked:
					looked = true
					rename(t, h.in("src"), h.in("store"))
				case what == "step" && looked:
					_ = os.Rename(h.in("store"), h.in("src")) // once
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, top.dir, filepath.Join(top.dir, "store"))
			for range 2 {
				if got, err := h.read("src/b.txt"); got != "beta\n" {
					t.Fatalf("%q, %v", got, err)
				}
			}
			become(h)
			_, err := h.read("src/b.txt")
			wantCode(t, err, workspace.Protected, "")
			_ = os.Remove(h.in("store"))
		})
	}
}

// What takes the name of a file after it was looked at is judged by its handle.
func TestSwappedBeforeOpen(t *testing.T) {
	tests := []struct {
		name string
		swap func(t *testing.T, h *fixture)
		code workspace.Code
	}{
		{"for a protected file", func(t *testing.T, h *fixture) { rename(t, h.in("keys.txt"), h.in("a.txt")) }, workspace.Protected},
		{"for a pipe", func(t *testing.T, h *fixture) {
			rename(t, h.in("a.txt"), h.in("old"))
			makePipe(t, h.in("a.txt"))
		}, workspace.NotRegular},
		{"for a directory", func(t *testing.T, h *fixture) {
			rename(t, h.in("a.txt"), h.in("old"))
			rename(t, h.in("src"), h.in("a.txt"))
		}, workspace.NotRegular},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newFixture(t)
			between(h, "open", 1, func() { tt.swap(t, h) })
			f, err := h.OpenFile(t.Context(), "a.txt")
			wantCode(t, err, tt.code, "")
			if err == nil {
				f.Close()
			}
		})
	}
}

// A file that takes the place of the one to be moved, after all looks at it, goes back.
func TestSwappedBeforeMove(t *testing.T) {
	h := newFixture(t)
	between(h, "move", 1, func() { h.slip(t) })
	_, _, err := h.Move(t.Context(), "a.txt", "moved.txt")
	wantCode(t, err, workspace.Protected, "")
	if h.exists("moved.txt") || h.content(t, "a.txt") != canary {
		t.Error("a protected file was moved")
	}
}

// A directory is neither moved nor emptied while a file in it is edited.
func TestTreeWaitsForEdit(t *testing.T) {
	for name, call := range map[string]func(*fixture) error{
		"move":   func(h *fixture) error { _, _, err := h.Move(t.Context(), "tree", "moved"); return err },
		"remove": func(h *fixture) error { _, err := h.RemoveDir(t.Context(), "tree", true); return err },
	} {
		t.Run(name, func(t *testing.T) {
			h := newFullFixture(t)
			done := make(chan error, 1)
			_, err := h.EditFile(t.Context(), "tree/x", 100, func([]byte) ([]byte, error) {
				go func() { done <- call(h) }()
				// It waits when it has all tokens but one, or when it has none to get.
				for h.Waiting() < workspace.MaxChanges+2 && len(done) == 0 {
					runtime.Gosched()
				}
				if len(done) > 0 || !h.exists("tree/x") || !h.exists("tree/y/z") {
					t.Error("it did not wait")
				}
				return []byte("edited"), nil
			})
			if other := <-done; err != nil || other != nil {
				t.Errorf("%v, %v", err, other)
			}
			if h.exists("tree") || name == "move" && h.content(t, "moved/x") != "edited" {
				t.Errorf("the directory is there: %t", h.exists("tree"))
			}
		})
	}
}

// A directory that is swapped while a tree is surveyed, or while it is deleted, is left
// alone with all that is in it.
func TestSwappedBeforeTreeIsEntered(t *testing.T) {
	for name, nth := range map[string]int{"at the survey": 1, "at the deletion": 2} {
		t.Run(name, func(t *testing.T) {
			top := newFixture(t)
			put(t, top.in("wood/y/z"), "z")
			put(t, top.in("store/state"), canary)
			h := open(t, top.dir, top.in("store"))
			between(h, "enter", nth, func() {
				rename(t, h.in("wood/y"), h.in("old"))
				rename(t, h.in("store"), h.in("wood/y"))
			})
			_, err := h.RemoveDir(t.Context(), "wood", true)
			wantCode(t, err, workspace.Changed, "")
			if !h.exists("wood/y/state") || !h.exists("old/z") {
				t.Error("something was deleted")
			}
		})
	}
}

// What comes into a tree after it was surveyed is looked at before it is deleted.
func TestComesAfterSurvey(t *testing.T) {
	for name, come := range map[string]func(*fixture){
		"an env file":      func(h *fixture) { put(t, h.in("wood/y/.env"), canary) },
		"a protected file": func(h *fixture) { rename(t, h.in("keys.txt"), h.in("wood/y/z")) },
		"a repository":     func(h *fixture) { put(t, h.in("wood/y/.git/config"), canary) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newFixture(t)
			put(t, h.in("wood/y/z"), "z")
			between(h, "enter", 2, func() { come(h) })
			_, err := h.RemoveDir(t.Context(), "wood", true)
			wantCode(t, err, workspace.Protected, "")
			kept := 0
			for _, name := range []string{"wood/y/.env", "wood/y/z", "wood/y/.git/config"} {
				if h.exists(name) && h.content(t, name) == canary {
					kept++
				}
			}
			if kept != 1 {
				t.Error("it was deleted")
			}
		})
	}
}

// Nothing is appended to a file that took the name after the looks at it, unless all of
// them were taken again, nor to one that has lost the name.
func TestSwappedBeforeAppend(t *testing.T) {
	extend := func(h *fixture) error {
		_, err := h.AppendFile(t.Context(), "a.txt", []byte("more"))
		return err
	}
	t.Run("for a protected file", func(t *testing.T) {
		h := newFixture(t)
		between(h, "extend", 1, func() { h.slip(t) })
		wantCode(t, extend(h), workspace.Protected, "")
		if got := h.content(t, "a.txt"); got != canary {
			t.Errorf("it has %q", got)
		}
	})
	t.Run("for what says what an Expert may do", func(t *testing.T) {
		top := newFixture(t)
		put(t, top.in("rules"), "rules")
		w, err := workspace.Open(top.dir, workspace.Options{ReadOnly: []string{top.in("perstack.toml")}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { w.Close() })
		h := &fixture{Workspace: w, dir: top.dir}
		between(h, "extend", 1, func() {
			rename(t, h.in("rules"), h.in("a.txt"))
			h.link(t, "a.txt", "perstack.toml")
		})
		wantCode(t, extend(h), workspace.NotWritable, "")
		if got := h.content(t, "a.txt"); got != "rules" {
			t.Errorf("it has %q", got)
		}
	})
	t.Run("after it was opened", func(t *testing.T) {
		h := newFixture(t)
		put(t, h.in("other"), "other ")
		between(h, "extending", 1, func() { rename(t, h.in("other"), h.in("a.txt")) })
		if err := extend(h); err != nil {
			t.Fatal(err)
		}
		if got := h.content(t, "a.txt"); got != "other more" {
			t.Errorf("what has the name has %q", got)
		}
	})
}

// An edit does not give the text of one file the mode of another.
func TestSwappedBeforeEdit(t *testing.T) {
	h := newFixture(t)
	put(t, h.in("private"), "private")
	if err := os.Chmod(h.in("private"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The second walk is that of the reader.
	between(h, "watch", 2, func() { rename(t, h.in("private"), h.in("a.txt")) })
	_, err := h.EditFile(t.Context(), "a.txt", 100, func(old []byte) ([]byte, error) { return append(old, '!'), nil })
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(h.in("a.txt"))
	if err != nil || info.Mode().Perm() != 0o600 || h.content(t, "a.txt") != "private!" {
		t.Errorf("%v, %v: %q", info.Mode(), err, h.content(t, "a.txt"))
	}
}

// What is protected by its place is so at that place only, also on a way that the walk
// before went: "data/data" is not "data".
func TestProtectedBelowItsOwnName(t *testing.T) {
	h := newFixture(t)
	put(t, filepath.Join(h.dir, "data", "f"), "inside")
	w, err := workspace.Open(h.dir, workspace.Options{Protected: []string{filepath.Join(h.dir, "data", "data")}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for range 3 {
		if _, data, err := w.ReadFile(t.Context(), "data/f", 100); err != nil || string(data) != "inside" {
			t.Errorf("%q, %v", data, err)
		}
		_, _, err := w.ReadFile(t.Context(), "data/data/x", 100)
		wantCode(t, err, workspace.Protected, "data/data")
	}
}
