package workspace_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

// A file that says what an Expert may do can be read, but not changed, whatever name
// leads to it and whether or not it exists.
func TestReadOnlyFiles(t *testing.T) {
	h := newFixture(t)
	put(t, filepath.Join(h.dir, "perstack.toml"), "rules\n")
	if err := os.Link(filepath.Join(h.dir, "perstack.toml"), filepath.Join(h.dir, "hard.toml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("perstack.toml", filepath.Join(h.dir, "soft.toml")); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(h.dir, workspace.Options{ReadOnly: []string{
		filepath.Join(h.dir, "perstack.toml"), filepath.Join(h.dir, "perstack.lock"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, name := range []string{"perstack.toml", "Perstack.TOML", "./src/../perstack.toml", "hard.toml", "soft.toml", "perstack.lock"} {
		_, err := w.WriteFile(t.Context(), name, []byte("exec for all"))
		var refusal *workspace.Error
		if !errors.As(err, &refusal) || refusal.Code != workspace.NotWritable {
			t.Errorf("write %s: %v, want a refusal", name, err)
		}
	}
	f, err := w.OpenFile(t.Context(), "perstack.toml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if text, err := io.ReadAll(f); err != nil || string(text) != "rules\n" {
		t.Errorf("read %q, %v", text, err)
	}
	if _, err := w.WriteFile(t.Context(), "src/perstack.toml", []byte("another file")); err != nil {
		t.Errorf("a file of the same name elsewhere: %v", err)
	}
}
