package daemon

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/runtimes/docker/archive"
)

// A tree is what an image holds, by paths in it; each is a file of this machine, or a text.
type tree struct {
	tb    testing.TB
	files map[string]archive.File
}

func newTree(tb testing.TB, marks ...string) *tree {
	t := &tree{tb: tb, files: map[string]archive.File{}}
	t.dir("/tmp", 0o1777)
	if len(marks) > 0 {
		t.text("/etc/mark", strings.Join(marks, "\n")+"\n")
	}
	return t
}

func (t *tree) dir(name string, mode int64) { t.files[name] = archive.File{Path: name, Mode: mode} }

func (t *tree) text(name, content string) {
	t.files[name] = archive.File{Path: name, Mode: 0o644, Body: archive.Text(content)}
}

func (t *tree) link(name, to string) {
	t.files[name] = archive.File{Path: name, Mode: 0o777, Link: to}
}

func (t *tree) file(name, source string, mode int64) {
	t.files[name] = archive.File{Path: name, Mode: mode, Body: open(t.tb, source)}
}

// program adds a program with all that the loader needs for it, at the places where the
// loader of the image looks as well.
func (t *tree) program(name, source string) {
	t.tb.Helper()
	t.file(name, source, 0o755)
	if err := t.libraries(source); err != nil {
		t.tb.Fatalf("what %s needs: %v", source, err)
	}
}

func (t *tree) libraries(source string) error {
	f, err := elf.Open(source)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		name, err := io.ReadAll(p.Open())
		if err != nil {
			return err
		}
		loader := strings.TrimRight(string(name), "\x00")
		t.file(loader, loader, 0o755)
	}
	needed, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	for _, library := range needed {
		found, err := findLibrary(library, f.Machine)
		if err != nil {
			return err
		}
		if _, ok := t.files[found]; ok {
			continue
		}
		t.file(found, found, 0o755)
		if err := t.libraries(found); err != nil {
			return err
		}
	}
	return nil
}

// findLibrary looks where loaders look without a cache.
func findLibrary(name string, machine elf.Machine) (string, error) {
	triplet := map[elf.Machine]string{elf.EM_X86_64: "x86_64-linux-gnu", elf.EM_AARCH64: "aarch64-linux-gnu"}[machine]
	for _, dir := range []string{"/lib/" + triplet, "/usr/lib/" + triplet, "/lib64", "/usr/lib64", "/lib", "/usr/lib"} {
		full := path.Join(dir, name)
		f, err := elf.Open(full)
		if err != nil {
			continue
		}
		f.Close()
		if f.Machine == machine {
			return full, nil
		}
	}
	return "", fmt.Errorf("no library %s", name)
}

// directory adds what is below a directory of this machine: files, and the links that are
// not broken, as the files that they lead to.
func (t *tree) directory(name string) {
	t.tb.Helper()
	err := filepath.WalkDir(name, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case d.IsDir():
			t.dir(at, 0o755)
		case info.Mode().IsRegular():
			t.file(at, at, int64(info.Mode().Perm()))
		}
		return nil
	})
	if err != nil {
		t.tb.Fatal(err)
	}
}

// basics are the files that every system has, with a user of the given name and number.
func (t *tree) basics(user string, id int) {
	t.text("/etc/passwd", fmt.Sprintf("root:x:0:0:root:/root:/bin/sh\n%s:x:%d:%d::/:/bin/sh\n", user, id, id))
	t.text("/etc/group", fmt.Sprintf("root:x:0:\n%s:x:%d:\n", user, id))
	t.text("/etc/nsswitch.conf", "hosts: files dns\n")
	t.text("/etc/hosts", "127.0.0.1 localhost\n")
}

// load makes the image and returns its id. Equal trees are one image, whichever test makes them;
// each test has a name of its own for it, and the image goes with the last of the names.
func (t *tree) load(config archive.Config) string {
	t.tb.Helper()
	var files []archive.File
	for _, name := range slices.Sorted(maps.Keys(t.files)) {
		files = append(files, t.files[name])
	}
	return loadImage(t.tb, config, files, false)
}
