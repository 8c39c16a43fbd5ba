package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

func TestPathsThatLeadIn(t *testing.T) {
	h := newFixture(t)
	h.link(t, "src", "dir")
	h.link(t, "src/b.txt", "file")
	h.link(t, "dir", "dirdir")
	h.link(t, "../a.txt", "src/up")
	put(t, filepath.Join(h.dir, "..."), "dots")
	put(t, filepath.Join(h.dir, "~x"), "tilde")
	put(t, filepath.Join(h.dir, ".env.example"), "sample")
	put(t, filepath.Join(h.dir, "src", ".env.local.template"), "template")
	put(t, filepath.Join(h.dir, "src", "perstack", "x"), "deeper")
	put(t, filepath.Join(h.dir, ".envrc"), "rc")
	tests := []struct{ name, want string }{
		{"a.txt", "alpha\n"},
		{"./a.txt", "alpha\n"},
		{".//src/.//b.txt", "beta\n"},
		{"src/../a.txt", "alpha\n"},
		{"src/../src/../a.txt", "alpha\n"},
		{filepath.Join(h.dir, "a.txt"), "alpha\n"},
		{h.dir + "//./src/b.txt", "beta\n"},
		{strings.Replace(h.dir, "/", "//", 1) + "/a.txt", "alpha\n"},
		{"dir/b.txt", "beta\n"},
		{"dirdir/b.txt", "beta\n"},
		{"dir/../a.txt", "alpha\n"},
		{"file", "beta\n"},
		{"src/up", "alpha\n"},
		{"...", "dots"},
		{"~x", "tilde"},
		{".env.example", "sample"},
		{"src/.env.local.template", "template"},
		{"src/perstack/x", "deeper"},
		{".envrc", "rc"},
	}
	for _, tt := range tests {
		if got, err := h.read(tt.name); got != tt.want || err != nil {
			t.Errorf("read %q = %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}

func TestPathsThatAreRefused(t *testing.T) {
	h := newFixture(t)
	h.link(t, h.outside, "abs")
	h.link(t, "../outside", "rel")
	h.link(t, "../outside/secret.txt", "leak.txt")
	h.link(t, filepath.Join(h.dir, "a.txt"), "absInside")
	h.link(t, "perstack", "p")
	h.link(t, "a.txt/", "slash")
	h.link(t, "perstack/jobs", "jobs")
	h.link(t, ".env", "env.txt")
	h.link(t, "loop", "loop")
	h.link(t, "nowhere", "dangling")
	h.link(t, "src/../../outside", "sneaky")
	if err := os.Link(filepath.Join(h.dir, ".env"), filepath.Join(h.dir, "hard1.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(h.dir, "keys.txt"), filepath.Join(h.dir, "hard2.txt")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(h.dir, "src", ".env.production"), canary)
	put(t, filepath.Join(h.dir, "PERSTACK", "x"), canary)
	const (
		out   = "path outside allowed directories"
		store = "history and the state of perstack"
		sec   = "is protected"
	)
	tests := []struct {
		name     string
		code     workspace.Code
		fragment string
	}{
		{"/etc/passwd", workspace.OutsideWorkspace, out},
		{"../outside/secret.txt", workspace.OutsideWorkspace, out},
		{"src/../../outside/secret.txt", workspace.OutsideWorkspace, out},
		{"../ws2/secret.txt", workspace.OutsideWorkspace, out},
		{h.dir + "2/secret.txt", workspace.OutsideWorkspace, out},
		{h.dir + "/../outside/secret.txt", workspace.OutsideWorkspace, out},
		{h.outside + "/secret.txt", workspace.OutsideWorkspace, out},
		{"..", workspace.OutsideWorkspace, out},
		{"~", workspace.OutsideWorkspace, out},
		{"~/x", workspace.OutsideWorkspace, out},
		{"abs/secret.txt", workspace.OutsideWorkspace, "symbolic link"},
		{"rel/secret.txt", workspace.OutsideWorkspace, "symbolic link"},
		{"rel/none.txt", workspace.OutsideWorkspace, "symbolic link"},
		{"sneaky/secret.txt", workspace.OutsideWorkspace, "symbolic link"},
		{"leak.txt", workspace.OutsideWorkspace, "symbolic link"},
		{"absInside", workspace.OutsideWorkspace, "symbolic link"},
		{"perstack/jobs/j1", workspace.Protected, store},
		{"Perstack/jobs/j1", workspace.Protected, store},
		{"PERSTACK/x", workspace.Protected, store},
		{"ｐｅｒｓｔａｃｋ/x", workspace.Protected, store},
		{"per\u200bstack/x", workspace.Protected, store},
		{"src/../perstack/jobs/j1", workspace.Protected, store},
		{"p/jobs/j1", workspace.Protected, store},
		{"jobs/j1", workspace.Protected, store},
		{".env", workspace.Protected, sec},
		{".ENV", workspace.Protected, sec},
		{".ｅｎｖ", workspace.Protected, sec},
		{".e\u00adnv", workspace.Protected, sec},
		{".env ", workspace.Protected, sec},
		{".env.", workspace.Protected, sec},
		{"src/.env.production", workspace.Protected, sec},
		{".env.local", workspace.Protected, sec},
		{"env.txt", workspace.Protected, sec},
		{"hard1.txt", workspace.Protected, sec},
		{"hard2.txt", workspace.Protected, sec},
		{"keys.txt", workspace.Protected, sec},
		{"KEYS.txt", workspace.Protected, sec},
		{"none.txt", workspace.NotFound, "does not exist"},
		{"none/none.txt", workspace.NotFound, "does not exist"},
		{"none/", workspace.NotFound, "does not exist"},
		{"dangling", workspace.NotFound, "symbolic link to something that does not exist"},
		{"a.txt/", workspace.NotADirectory, "is not a directory"},
		{"a.txt/b", workspace.NotADirectory, "is not a directory"},
		{"a.txt/..", workspace.NotADirectory, "is not a directory"},
		{"a.txt/.", workspace.NotADirectory, "is not a directory"},
		{"slash", workspace.NotADirectory, "is not a directory"},
		{"", workspace.IsADirectory, "is a directory"},
		{".", workspace.IsADirectory, "is a directory"},
		{h.dir, workspace.IsADirectory, "is a directory"},
		{"src", workspace.IsADirectory, "is a directory"},
		{"a.txt\x00", workspace.InvalidPath, "NUL"},
		{"loop", workspace.InvalidPath, "too many symbolic links"},
		{strings.Repeat("x", 300), workspace.InvalidPath, "too long"},
		{strings.Repeat("x/", 3000), workspace.InvalidPath, "longer than"},
		{strings.Repeat("src/../", 580) + "a.txt", workspace.InvalidPath, "too many"},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name[:min(len(tt.name), 30)], "/", "_"), func(t *testing.T) {
			got, err := h.read(tt.name)
			if err == nil {
				t.Fatalf("read %q = %q, want a refusal", tt.name, got)
			}
			wantCode(t, err, tt.code, tt.fragment)
		})
	}
}

// An error repeats a name shortly and without control characters.
func TestErrorsQuoteNames(t *testing.T) {
	h := newFixture(t)
	_, err := h.read("x\x1b[31m\n" + strings.Repeat("é", 500))
	if err == nil || strings.ContainsAny(err.Error(), "\x1b\n") || len(err.Error()) > 500 {
		t.Errorf("error %q", err)
	}
}

// A protected path is known by its place before it exists, and by its identity after.
func TestProtectedComesLater(t *testing.T) {
	h := newFixture(t)
	store := filepath.Join(h.dir, "data", "store")
	w, err := workspace.Open(h.dir, workspace.Options{Protected: []string{store}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	_, err = w.WriteFile(t.Context(), "data/Store/planted", []byte("x"))
	wantCode(t, err, workspace.Protected, "tools may not make it")
	put(t, filepath.Join(store, "x"), canary)
	h.link(t, "data/store", "s")
	_, err = (&fixture{Workspace: w}).read("s/x")
	wantCode(t, err, workspace.Protected, "history and the state of perstack")
	if _, err := w.WriteFile(t.Context(), "data/storeroom", []byte("x")); err != nil {
		t.Error(err)
	}
}

// The storage directory stays out of reach when it is renamed while we run.
func TestProtectedRenamed(t *testing.T) {
	h := newFixture(t)
	if err := os.Rename(filepath.Join(h.dir, "perstack"), filepath.Join(h.dir, "moved")); err != nil {
		t.Fatal(err)
	}
	_, err := h.read("moved/jobs/j1")
	wantCode(t, err, workspace.Protected, "history and the state of perstack")
}
