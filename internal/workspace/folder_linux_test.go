package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

// A folder takes one name, and no path: the kernel would walk that on its own.
func TestFolderTakesOneName(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{"in/sub/file", "file"} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d, err := openFolder(filepath.Join(top, "in"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	methods := map[string]func(name string) error{
		"look":     func(n string) error { x, err := d.look(n); x.drop(); return err },
		"read":     func(n string) error { _, _, err := d.read(n, nil); return err },
		"Lstat":    func(n string) error { _, err := d.Lstat(n); return err },
		"Stat":     func(n string) error { _, err := d.Stat(n); return err },
		"Open":     func(n string) error { _, err := d.Open(n); return err },
		"OpenFile": func(n string) error { _, err := d.OpenFile(n, os.O_RDWR|os.O_CREATE, 0o600); return err },
		"step":     func(n string) error { _, err := d.step(n, nil); return err },
		"Mkdir":    func(n string) error { return d.Mkdir(n, 0o700) },
		"Remove":   d.Remove, "RemoveDir": d.RemoveDir,
		"Rename":   func(n string) error { return d.Rename(n, "x") },
		"Rename2":  func(n string) error { return d.Rename("sub", n) },
		"Readlink": func(n string) error { _, err := d.Readlink(n); return err },
	}
	for method, call := range methods {
		for _, name := range []string{"", "..", "../file", "../new", "sub/file", "sub/new", "/", "/etc", "./sub"} {
			if err := call(name); err == nil {
				t.Errorf("%s took %q", method, name)
			}
		}
	}
	for _, name := range []string{"in/sub/file", "file"} {
		if _, err := os.Stat(filepath.Join(top, name)); err != nil {
			t.Error(err)
		}
	}
}

// What the kernel says reads as it does with package os.
func TestStatus(t *testing.T) {
	top := t.TempDir()
	d, err := openFolder(top)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	in := func(name string) string { return filepath.Join(top, name) }
	if err := os.WriteFile(in("file"), []byte("text"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(in("dir"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", in("link")); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"file": 0o751 | os.ModeSetuid | os.ModeSetgid, "dir": 0o700 | os.ModeSticky} {
		if err := os.Chmod(in(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"file", "dir", "link", "."} {
		want, err := os.Lstat(in(name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Lstat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got.Name() != filepath.Base(name) || got.Size() != want.Size() || got.Mode() != want.Mode() ||
			!got.ModTime().Equal(want.ModTime()) || got.IsDir() != want.IsDir() || !sameFile(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		for _, other := range []string{"file", "dir", "link", "."} {
			info, err := os.Lstat(in(other))
			if err != nil {
				t.Fatal(err)
			}
			if sameFile(got, info) != (name == other) || sameFile(got, nil) || sameFile(nil, nil) {
				t.Errorf("%s and %s: the same is %t", name, other, name != other)
			}
		}
	}
	for name, want := range map[string]os.FileMode{"/dev/null": os.ModeDevice | os.ModeCharDevice, "/dev": os.ModeDir} {
		st := &status{name: name}
		if err := fstatat(-100, name, &st.Stat_t, 0); err != nil {
			t.Fatal(err)
		}
		if st.Mode().Type() != want {
			t.Errorf("%s: %v", name, st.Mode())
		}
	}
}
