package state

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// Chosen directories are known by their paths without links. Of too many, those are forgotten
// that are gone, then those that were used least recently.
func TestStorages(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := Dir(filepath.Join(base, "state"))
	if all, err := d.Storages(); len(all) > 0 || err != nil {
		t.Errorf("before the first: %q, %v", all, err)
	}
	var dirs []string
	for i, name := range []string{"a", "b", "c", "d"} {
		dir := filepath.Join(base, name)
		dirs = append(dirs, dir)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := d.RecordStorage(dir); err != nil {
			t.Fatal(err)
		}
		// They were used an hour apart.
		err := d.eachStorage(func(file, path string) {
			if path == dir {
				at := time.Unix(int64(3600*(i+1)), 0)
				if err := os.Chtimes(file, at, at); err != nil {
					t.Error(err)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if link := filepath.Join(base, "link"); os.Symlink(dirs[0], link) == nil {
		if err := d.RecordStorage(link); err != nil { // and "a" is the one that was used last
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(string(d), storagesName, "half.tmp"), []byte(base), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(what string, want ...string) {
		t.Helper()
		if all, err := d.Storages(); err != nil || !slices.Equal(all, want) {
			t.Errorf("%s: %q, %v, want %q", what, all, err, want)
		}
	}
	check("all", dirs...)
	if err := os.Remove(dirs[3]); err != nil {
		t.Fatal(err)
	}
	check("one is gone", dirs[:3]...)
	if err := d.pruneStorages(3); err != nil {
		t.Fatal(err)
	}
	check("room for three", dirs[:3]...)
	if err := d.pruneStorages(2); err != nil {
		t.Fatal(err)
	}
	check("room for two", dirs[0], dirs[2])
}
