package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestEnvFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		".env", ".env.local", ".ENV.Production", ".env.example", ".env.d.sample", ".envrc", "env", "x.env", // in the root
		"a/b/c/.env", "a/.env.test", "a/.env.template",
		"venv/.env/bin/python", "venv/.env/.env",
		".git/.env", "a/.git/modules/.env", "node_modules/p/.env", "a/Node_Modules/p/.env",
	} {
		write(t, filepath.Join(dir, name))
	}
	got, err := EnvFiles(t.Context(), dir)
	want := []string{".ENV.Production", ".env", ".env.local", "a/.env.test", "a/b/c/.env", "venv/.env"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("EnvFiles = %q, %v", got, err)
	}
}

func TestEnvFilesBounds(t *testing.T) {
	dir := t.TempDir()
	for i := range maxEnvFiles + 1 {
		write(t, filepath.Join(dir, fmt.Sprintf(".env.%d", i)))
	}
	if got, err := EnvFiles(t.Context(), dir); err == nil {
		t.Errorf("%d env files were found", len(got))
	}
	s := search{seen: maxSearched}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.judge(".", entries[0]); err == nil {
		t.Error("the search does not end")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if _, err := EnvFiles(ctx, dir); !errors.Is(err, stop) {
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
