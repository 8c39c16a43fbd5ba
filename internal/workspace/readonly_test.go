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

// The directory of a skill's program can be read, but nothing in it can be changed, made, moved
// or deleted: not by its name, not through a link, not by another name of one of its files, and
// not after a command moved it.
func TestReadOnlyDirectory(t *testing.T) {
	h := newFixture(t)
	put(t, filepath.Join(h.dir, "srv", "lib", "a.js"), "program\n")
	put(t, filepath.Join(h.dir, "other.js"), "other\n")
	for link, target := range map[string]string{"soft": "srv", "deep": "srv/lib"} {
		if err := os.Symlink(target, filepath.Join(h.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(h.dir, "srv", "lib", "a.js"), filepath.Join(h.dir, "hard.js")); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.Open(h.dir, workspace.Options{ReadOnly: []string{filepath.Join(h.dir, "srv")}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	refused := func(what string, err error) {
		t.Helper()
		var refusal *workspace.Error
		if !errors.As(err, &refusal) || refusal.Code != workspace.NotWritable {
			t.Errorf("%s: %v, want a refusal", what, err)
		}
	}
	write := func(name string) error {
		_, err := w.WriteFile(t.Context(), name, []byte("evil"))
		return err
	}
	for _, name := range []string{"srv/lib/a.js", "SRV/lib/a.js", "srv/new.js", "srv/new/b.js", "soft/lib/a.js", "deep/a.js", "hard.js"} {
		refused("write "+name, write(name))
	}
	_, err = w.AppendFile(t.Context(), "hard.js", []byte("evil"))
	refused("append", err)
	_, err = w.MakeDir(t.Context(), "srv/new")
	refused("make a directory", err)
	for from, to := range map[string]string{"srv": "gone", "other.js": "srv/lib/b.js", "srv/lib/a.js": "b.js"} {
		_, _, err = w.Move(t.Context(), from, to)
		refused("move "+from, err)
	}
	_, err = w.RemoveFile(t.Context(), "srv/lib/a.js")
	refused("delete a file", err)
	_, err = w.RemoveDir(t.Context(), "srv", true)
	refused("delete the directory", err)
	if _, err := os.Stat(filepath.Join(h.dir, "srv", "new")); err == nil {
		t.Error("a directory was made")
	}
	if err := os.Rename(filepath.Join(h.dir, "srv"), filepath.Join(h.dir, "moved")); err != nil { // a command does that
		t.Fatal(err)
	}
	refused("write where it was moved", write("moved/lib/a.js"))
	refused("write where it was", write("srv/lib/a.js"))
	if err := write("other.js"); err != nil {
		t.Errorf("another file: %v", err)
	}
	if text, err := os.ReadFile(filepath.Join(h.dir, "moved", "lib", "a.js")); err != nil || string(text) != "program\n" {
		t.Errorf("the program is %q, %v", text, err)
	}
}
