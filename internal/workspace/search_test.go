package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindCovered(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		".env", ".env.local", ".ENV.Production", ".env.example", ".env.d.sample", ".envrc", "env", "x.env", // in the root
		"a/b/c/.env", "a/.env.test", "a/.env.template",
		"venv/.env/bin/python", "venv/.env/.env",
		".git/.env", "a/.git/modules/.env", "node_modules/p/.env", "a/Node_Modules/p/.env",
		".git/HEAD", ".git/objects/x", ".git/refs/heads/.env", // a branch
		".git/modules/logs/HEAD", ".git/modules/logs/objects/x", ".git/modules/logs/refs/x", // a submodule
		".git/worktrees/w/HEAD", ".git/worktrees/w/commondir", "sub/.GIT",
		"bare/HEAD", "bare/objects/.env", "bare/refs/x", "node_modules/q/.git/HEAD", "half/HEAD", "half/refs/x",
	} {
		write(t, filepath.Join(dir, name))
	}
	got, err := FindCovered(t.Context(), dir)
	want := Covered{
		Hidden: []string{".ENV.Production", ".env", ".env.local", "a/.env.test", "a/b/c/.env", "bare/objects/.env", "venv/.env"},
		Git:    []string{".git", ".git/modules/logs", ".git/worktrees/w", "bare", "sub/.GIT"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("FindCovered: %v\n%s", err, diff)
	}
}

func TestFindCoveredBounds(t *testing.T) {
	repositories, dir := t.TempDir(), t.TempDir()
	for i := range maxRepositories + 1 {
		write(t, filepath.Join(repositories, fmt.Sprint(i), ".git"))
	}
	for i := range maxEnvFiles + 1 {
		write(t, filepath.Join(dir, fmt.Sprintf(".env.%d", i)))
	}
	for _, dir := range []string{repositories, dir} {
		if got, err := FindCovered(t.Context(), dir); err == nil {
			t.Errorf("%d env files and %d repositories were found", len(got.Hidden), len(got.Git))
		}
	}
	s := search{seen: maxSearched}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.judge("", entries[0], new(gitNames)); err == nil {
		t.Error("the search does not end")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if _, err := FindCovered(ctx, dir); !errors.Is(err, stop) {
		t.Errorf("a search that was cancelled: %v", err)
	}
}

func write(t *testing.T, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What decides about later commands is found at any depth, in any spelling.
func TestFindTrusted(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"perstack.toml", "a/Perstack.TOML", "a/b/perstack.lock", "node_modules/p/.env", "node_modules/p/perstack.toml", ".env/perstack.toml", "x.toml",
		".git/HEAD", ".git/objects/x", ".git/refs/x", ".git/modules/m/HEAD", ".git/modules/m/objects/x", ".git/modules/m/refs/x",
		"bare/head", "bare/objects/.env", "bare/refs/x", "worktree/.git", "common/HEAD", "common/commondir", "half/HEAD", "half/refs/x",
	} {
		write(t, filepath.Join(dir, name))
	}
	got, err := FindTrusted(t.Context(), dir)
	want := Trusted{
		Env:   []string{".env", "bare/objects/.env", "node_modules/p/.env"},
		Rules: []string{".env/perstack.toml", "a/Perstack.TOML", "a/b/perstack.lock", "node_modules/p/perstack.toml", "perstack.toml"},
		TOML:  []string{"x.toml"},
		Git:   []string{".git", ".git/modules/m", "bare", "common", "worktree/.git"},
	}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got)\n%s", err, d)
	}
}

// A tree that is too deep is not searched to its end, and that is said.
func TestFindTrustedDeep(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	deep := strings.TrimSuffix(strings.Repeat("d/", maxSearchDepth+2), "/")
	if err := root.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "e", ".env"))
	got, err := FindTrusted(t.Context(), dir)
	if err != nil || len(got.Closed) != 1 || got.Closed[0].Path != strings.TrimSuffix(strings.Repeat("d/", maxSearchDepth+1), "/") || !slices.Equal(got.Env, []string{"e/.env"}) {
		t.Errorf("%+v, %v", got, err)
	}
}
