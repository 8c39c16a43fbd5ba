//go:build unix

package opendir_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/opendir"
)

func open(t *testing.T) (opendir.Dir, string) {
	path := t.TempDir()
	d, err := opendir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, path
}

// No method goes through a link, opens a pipe or takes a path.
func TestNothingIsFollowed(t *testing.T) {
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "..", ".", "a/b", "", "nul\x00"} {
		t.Run(name, func(t *testing.T) {
			d, path := open(t)
			for _, err := range []error{
				os.Symlink(outside, filepath.Join(path, "link")), os.Mkdir(filepath.Join(path, "a"), 0o700),
				os.WriteFile(filepath.Join(path, "a", "b"), nil, 0o600),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			calls := map[string]func() error{
				"Sub":    func() error { _, err := d.Sub(name); return err },
				"Read":   func() error { _, err := d.Read(name); return err },
				"Create": func() error { _, err := d.Create(name, 0o600); return err },
				"Mkdir":  func() error { return d.Mkdir(name, 0o700) }, "Symlink": func() error { return d.Symlink("x", name) },
				"RemoveDir": func() error { return d.RemoveDir(name) },
			}
			if name != "link" {
				calls["Stat"] = func() error { _, err := d.Stat(name); return err }
				calls["Remove"] = func() error { return d.Remove(name) }
				calls["MoveTo"] = func() error { return d.MoveTo(d, "link", name) }
			}
			for call, do := range calls {
				if err := do(); err == nil {
					t.Errorf("%s(%q) succeeded", call, name)
				}
			}
		})
	}
	if names, err := os.ReadDir(outside); err != nil || len(names) != 1 {
		t.Errorf("outside there is %v, %v", names, err)
	}
}

func TestPipesAreNotOpened(t *testing.T) {
	d, path := open(t)
	if err := syscall.Mkfifo(filepath.Join(path, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Read("pipe"); err == nil {
		t.Error("the pipe was opened")
	}
	if info, err := d.Stat("pipe"); err != nil || info.Kind != opendir.Other {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestMoveReplacesFilesAndLinksOnly(t *testing.T) {
	d, path := open(t)
	write := func(name, content string) {
		f, err := d.Create(name, 0o640)
		if err == nil {
			_, err = f.WriteString(content)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("new", "new")
	write("old", "old")
	if err := d.MoveTo(d, "new", "old"); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(filepath.Join(path, "old")); err != nil || string(content) != "new" {
		t.Errorf("%q, %v", content, err)
	}
	if err := d.Mkdir("dir", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := d.MoveTo(d, "old", "dir"); err == nil {
		t.Error("a file replaced a directory")
	}
	names, err := d.Names()
	slices.Sort(names)
	if err != nil || !slices.Equal(names, []string{"dir", "old"}) {
		t.Errorf("%v, %v", names, err)
	}
}
