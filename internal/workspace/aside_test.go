package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/workspace"
)

func TestSetAside(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write := func(path string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("made"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "perstack.toml"))
	write(filepath.Join(dir, ".env"))
	write(filepath.Join(dir, ".env.from-job"))
	write(filepath.Join(outside, "perstack.toml"))
	if err := os.Symlink(outside, filepath.Join(dir, "sub")); err != nil {
		t.Fatal(err)
	}
	moved, err := workspace.SetAside(dir, []string{"perstack.toml", "perstack.lock", ".env", "sub/perstack.toml"}, ".from-job")
	if err == nil {
		t.Error("a path that leads out of the directory was followed")
	}
	want := map[string]string{"perstack.toml": "perstack.toml.from-job", ".env": ".env.from-job-2"}
	if d := cmp.Diff(want, moved); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for _, gone := range []string{"perstack.toml", ".env"} {
		if _, err := os.Lstat(filepath.Join(dir, gone)); err == nil {
			t.Errorf("%s is there still", gone)
		}
	}
	for _, kept := range []string{filepath.Join(dir, "perstack.toml.from-job"), filepath.Join(dir, ".env.from-job-2"), filepath.Join(outside, "perstack.toml")} {
		if data, err := os.ReadFile(kept); err != nil || string(data) != "made" {
			t.Errorf("%s: %q, %v", kept, data, err)
		}
	}
}
