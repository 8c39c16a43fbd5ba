package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

// open opens a workspace with a storage that need not exist.
func open(t *testing.T, dir string, protected ...string) *fixture {
	t.Helper()
	w, err := workspace.Open(dir, workspace.Options{Protected: protected})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return &fixture{Workspace: w, dir: dir}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// A storage that is made after the workspace was opened is known from the first
// operation on, and stays out of reach when a command renames it or what is in it.
func TestProtectedMadeLaterAndRenamed(t *testing.T) {
	for _, storage := range []string{"store", "perstack"} {
		for _, part := range []string{"", "jobs"} {
			t.Run(storage+" "+part, func(t *testing.T) {
				top := newFixture(t).dir
				dir := filepath.Join(top, "src")
				h := open(t, dir, filepath.Join(dir, storage))
				put(t, filepath.Join(dir, storage, "jobs", "j1", "journal.jsonl"), canary)
				if d, err := h.OpenDir(t.Context(), "."); err != nil { // as before each command
					t.Fatal(err)
				} else {
					d.Close()
				}
				moved := filepath.Join(dir, "moved", "x")
				put(t, filepath.Join(dir, "moved", "y"), "")
				rename(t, filepath.Join(dir, storage, part), moved)
				if part == "" { // the path is taken by something else
					put(t, filepath.Join(dir, storage, "jobs", "decoy"), "")
				}
				inside := map[string]string{"": "jobs/j1", "jobs": "j1"}[part]
				for _, name := range []string{"moved/x", "moved/x/" + inside, "moved/x/" + inside + "/journal.jsonl"} {
					_, err := h.read(name)
					wantCode(t, err, workspace.Protected, "history and the state of perstack")
					_, err = h.WriteFile(t.Context(), name, []byte("planted"))
					wantCode(t, err, workspace.Protected, "history and the state of perstack")
					_, err = h.ReadDir(t.Context(), name, 0, 10)
					wantCode(t, err, workspace.Protected, "history and the state of perstack")
				}
				if l, err := h.ReadDir(t.Context(), "moved", 0, 10); err != nil || len(l.Entries) != 1 {
					t.Errorf("listing %v, %v", show(l), err)
				}
			})
		}
	}
}

// A directory "perstack" is out of reach if it holds a history, by any spelling and through a
// link. Without one it is a name like any other, also as a link that came with a repository.
func TestPerstackDirectory(t *testing.T) {
	top := newFixture(t)
	h := open(t, top.dir, filepath.Join(top.dir, "perstack"))
	for _, name := range []string{"perstack", "perstack/jobs/j1", "Perstack/jobs/j1", "src/../perstack/new"} {
		_, err := h.read(name)
		wantCode(t, err, workspace.Protected, "history and the state of perstack")
		_, err = h.WriteFile(t.Context(), name, []byte("x"))
		wantCode(t, err, workspace.Protected, "history and the state of perstack")
	}
	if _, err := h.WriteFile(t.Context(), "src/perstack/x", []byte("x")); err != nil {
		t.Error(err)
	}

	dir := filepath.Join(top.dir, "src")
	h = open(t, dir, filepath.Join(top.outside, "storage"))
	if got, err := h.read("perstack/x"); got != "x" {
		t.Errorf("an ordinary directory: %q, %v", got, err)
	}
	if _, err := h.WriteFile(t.Context(), "perstack/jobs/y", []byte("y")); err != nil {
		t.Error(err)
	}
	if _, _, err := h.Move(t.Context(), "perstack", "renamed"); err != nil {
		t.Error(err)
	}
	if _, err := h.MakeDir(t.Context(), "perstack"); err != nil {
		t.Error(err)
	}
	if _, err := h.RemoveDir(t.Context(), "perstack", true); err != nil {
		t.Error(err)
	}
	put(t, filepath.Join(dir, "lib", "x"), "mine")
	for _, target := range []string{"lib", "."} {
		link := filepath.Join(dir, "perstack")
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		h := open(t, dir)
		for _, name := range []string{"lib/x", "perstack/x", "perstack/lib/x"} {
			if got, err := h.read(name); got != "mine" && (err == nil || !isCode(err, workspace.NotFound)) {
				t.Errorf("%s with perstack -> %s: %q, %v", name, target, got, err)
			}
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
}

// Another name of a protected file is not read, wherever its own name is.
func TestHardLinks(t *testing.T) {
	h := newFixture(t)
	put(t, filepath.Join(h.dir, "sub", ".env"), canary)
	put(t, filepath.Join(h.dir, "sub", "deep", ".Env.Production"), canary)
	put(t, filepath.Join(h.dir, ".env.production"), canary)
	put(t, filepath.Join(h.dir, "perstack", "jobs", "j2", "journal.jsonl"), canary)
	put(t, filepath.Join(h.dir, "perstack", "jobs", "j3", "job.json"), canary)
	put(t, filepath.Join(h.dir, ".env.example"), "sample")
	link := func(old, name string) {
		put(t, filepath.Join(h.dir, filepath.Dir(name), "keep"), "")
		if err := os.Link(filepath.Join(h.dir, old), filepath.Join(h.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct{ old, name, fragment string }{
		{"sub/.env", "h1", "env files"},
		{"sub/.env", "sub/h2", "env files"},
		{"sub/.env", "other/place/h3", "env files"},
		{"sub/deep/.Env.Production", "sub/deep/h4", "env files"},
		{".env.production", "h5", "env files"},
		{".env.production", "sub/deep/h6", "env files"},
		{"perstack/jobs/j2/journal.jsonl", "h7", "history and the state of perstack"},
		{"perstack/jobs/j2/journal.jsonl", "sub/deep/h8", "history and the state of perstack"},
		{"perstack/jobs/j3/job.json", "sub/h9", "history and the state of perstack"},
	}
	for _, tt := range tests {
		link(tt.old, tt.name)
		_, err := h.read(tt.name)
		wantCode(t, err, workspace.Protected, tt.fragment)
	}
	for _, name := range []string{"a.txt", "src/b.txt", ".env.example"} {
		twin := "twin/twin-" + filepath.Base(name)
		link(name, twin)
		if got, err := h.read(twin); err != nil || got == "" {
			t.Errorf("an ordinary file with two names: %q, %v", got, err)
		}
	}
	// Moving the storage away does not make its journals ordinary files.
	rename(t, filepath.Join(h.dir, "perstack"), filepath.Join(h.outside, "moved"))
	_, err := h.read("h7")
	wantCode(t, err, workspace.Protected, "history and the state of perstack")
}

// With more jobs than are compared, a file with several names is not read at all.
func TestHardLinksManyJobs(t *testing.T) {
	if testing.Short() {
		t.Skip("makes thousands of directories")
	}
	h := newFixture(t)
	for i := range workspace.MaxJobs + 1 {
		if err := os.Mkdir(filepath.Join(h.dir, "perstack", "jobs", fmt.Sprint("job", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(h.dir, "a.txt"), filepath.Join(h.dir, "twin")); err != nil {
		t.Fatal(err)
	}
	_, err := h.read("twin")
	wantCode(t, err, workspace.Protected, "several names")
	if got, err := h.read("src/b.txt"); got != "beta\n" {
		t.Errorf("a file with one name: %q, %v", got, err)
	}
}

// What is below .git can be read, but not written: not by any spelling, not through a
// link, and not as the file that a worktree has. Nothing is left behind either.
func TestGitDirectory(t *testing.T) {
	h := newFixture(t)
	put(t, filepath.Join(h.dir, ".git", "config"), "[core]\n")
	put(t, filepath.Join(h.dir, "vendor", "lib", ".git", "hooks", "x.sample"), "")
	h.link(t, ".git", "g")
	h.link(t, "vendor/lib/.git/hooks", "hooks")
	h.link(t, ".git/config", "cfg")
	for _, name := range []string{
		".git/config", ".GIT/config", ".g\u200bit/config", ".ｇｉｔ/hooks/pre-commit", ".git./config", ".git /config", ".git",
		"src/../.git/hooks/pre-commit", "vendor/lib/.git/hooks/post-checkout", "vendor/lib/.git", "new/.git/config", "new/.Git",
		"g/config", "g/new/hook", "hooks/pre-commit", "cfg", filepath.Join(h.dir, ".git", "config"),
	} {
		_, err := h.WriteFile(t.Context(), name, []byte("[core]\nfsmonitor = evil\n"))
		wantCode(t, err, workspace.Protected, "is protected: what is below .git can run code on your machine")
	}
	for _, name := range []string{"new", ".git/new", ".git/hooks"} {
		if _, err := os.Lstat(filepath.Join(h.dir, name)); err == nil {
			t.Errorf("a refused write left %s", name)
		}
	}
	for _, name := range []string{".git/config", "g/config", "cfg"} {
		if got, err := h.read(name); got != "[core]\n" {
			t.Errorf("read %s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{".gitignore", ".github/workflows/x.yml", "x.git/config", "git/config"} {
		if _, err := h.WriteFile(t.Context(), name, []byte("x")); err != nil {
			t.Errorf("write %s: %v", name, err)
		}
	}
}

// The memory of a guard is shared by calls that run side by side.
func TestGuardParallel(t *testing.T) {
	top := newFixture(t).dir
	h := open(t, filepath.Join(top, "src"), filepath.Join(top, "src", "store"))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				h.Stat(t.Context(), "b.txt")
			}
		})
	}
	for i := range 50 {
		put(t, filepath.Join(h.dir, "store", "jobs", "x"), "")
		rename(t, filepath.Join(h.dir, "store"), filepath.Join(h.dir, fmt.Sprint("moved", i)))
	}
	wg.Wait()
	h.Close()
	if _, err := h.Stat(t.Context(), "b.txt"); err == nil {
		t.Error("a closed workspace can be used")
	}
}
