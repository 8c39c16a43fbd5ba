package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A name like ENV~1 is an ordinary one where files have one name, and refused where they
// may have a second, short one, by which an env file would go unrecognised.
func TestShortNames(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ENV~1"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	w, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if !w.root.hasShortNames() {
		if _, data, err := w.ReadFile(t.Context(), "ENV~1", 100); err != nil || string(data) != "text" {
			t.Errorf("%q, %v", data, err)
		}
	}
	// A file system that is not known stands for one of Windows.
	other, err := Open("/dev/pts", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var refused *Error
	if _, err := other.Stat(t.Context(), "ENV~1"); !errors.As(err, &refused) || refused.Code != InvalidPath {
		t.Errorf("%v, want a refusal", err)
	}
	if _, err := other.RemoveFile(t.Context(), "ENV~1"); !errors.As(err, &refused) || refused.Code != InvalidPath {
		t.Errorf("%v, want a refusal", err)
	}
}

// What is protected is one file: a path whose text means another than the kernel finds
// is refused.
func TestProtectedPathIsClean(t *testing.T) {
	dir := t.TempDir()
	if w, err := Open(dir, Options{Protected: []string{dir + "/l/../t.toml"}}); err == nil {
		w.Close()
		t.Error("opened")
	}
}
