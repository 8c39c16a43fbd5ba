package archive

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// plant makes files below a new directory. A text that begins with "->" makes a link.
func plant(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, link := strings.CutPrefix(text, "->"); link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func tarOf(t *testing.T, dir string, skip func(string) bool) []byte {
	t.Helper()
	tree, err := OpenTree(dir, "/skills/npm/x", skip)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	var out bytes.Buffer
	if err := tree.Write(&out, "/skills", "/skills/npm"); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// What is in the image does not depend on who installed it, when, and with which umask.
func TestTreeIsTheSameEverywhere(t *testing.T) {
	long := "node_modules/" + strings.Repeat("deep-directory-name/", 14) + "index.js"
	files := map[string]string{
		"node_modules/a/index.js": "1", "node_modules/a/cli": "#!/bin/sh\n", "node_modules/a/bin/tool": "tool", "node_modules/a/native.node": "\x7fELF2",
		"node_modules/a/link.js": "->index.js", "node_modules/b/up": "->../a/bin", "node_modules/empty": "", "node_modules/.bin/a": "->../a/cli", long: "deep",
		"node_modules/ö.js": "x",
	}
	first, second := plant(t, files), plant(t, files)
	for _, dir := range []string{first, second} {
		if err := os.Chmod(filepath.Join(dir, "node_modules/a/bin/tool"), 0o711); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Unix(1e9, 0)
	for name, mode := range map[string]os.FileMode{"node_modules/a/index.js": 0o666, "node_modules/a": 0o777, "node_modules/a/bin/tool": 0o4755} {
		if err := errors.Join(os.Chmod(filepath.Join(second, name), mode), os.Chtimes(filepath.Join(second, name), past, past)); err != nil {
			t.Fatal(err)
		}
	}
	skip := func(name string) bool { return path.Base(name) == ".bin" }
	one, other := tarOf(t, first, skip), tarOf(t, second, skip)
	if !bytes.Equal(one, other) {
		t.Error("the same files give other bytes")
	}
	var got []string
	for r := tar.NewReader(bytes.NewReader(one)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" || h.ModTime.Unix() != 0 {
			t.Errorf("%s: %+v", h.Name, h)
		}
		name := strings.ReplaceAll(h.Name, strings.Repeat("deep-directory-name/", 14), "…/")
		if !strings.Contains(name, "deep-directory-name") {
			got = append(got, fmt.Sprintf("%c %04o %s %s", h.Typeflag, h.Mode, name, h.Linkname))
		}
	}
	want := []string{
		"5 0755 skills/ ", "5 0755 skills/npm/ ", "5 0755 skills/npm/x/ ", "5 0755 skills/npm/x/node_modules/ ",
		"5 0755 skills/npm/x/node_modules/a/ ", "5 0755 skills/npm/x/node_modules/a/bin/ ", "0 0555 skills/npm/x/node_modules/a/bin/tool ",
		"0 0555 skills/npm/x/node_modules/a/cli ", "0 0444 skills/npm/x/node_modules/a/index.js ", "2 0777 skills/npm/x/node_modules/a/link.js index.js",
		"0 0555 skills/npm/x/node_modules/a/native.node ", "5 0755 skills/npm/x/node_modules/b/ ", "2 0777 skills/npm/x/node_modules/b/up ../a/bin",
		"5 0755 skills/npm/x/node_modules/…/ ", "0 0444 skills/npm/x/node_modules/…/index.js ",
		"0 0444 skills/npm/x/node_modules/empty ", "0 0444 skills/npm/x/node_modules/ö.js ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTreesThatAreRefused(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"an absolute link":        {map[string]string{"a": "->" + secret}, "leads out of the package"},
		"an absolute link inside": {map[string]string{"a": "->/skills/npm/x/b", "b": ""}, "leads out of the package"},
		"a link upwards":          {map[string]string{"a/b": "->../../" + filepath.Base(filepath.Dir(secret))}, "leads out of the package"},
		"a link over a link":      {map[string]string{"a/b/c": "", "d": "->a/b", "e": "->d/../../../x"}, "leads out of the package"},
		"a link to a link out":    {map[string]string{"a/b/up": "->..", "a/b/out": "->up/../../etc"}, "link that leads"},
		"a link to nothing":       {map[string]string{"a": "->b"}, "leads nowhere"},
		"a circle":                {map[string]string{"a": "->b", "b": "->a"}, "leads nowhere"},
		"a whiteout":              {map[string]string{"a/.wh.b": ""}, "would remove another one"},
		"an opaque whiteout":      {map[string]string{".wh..wh..opq": ""}, "would remove another one"},
		"a whiteout of parents":   {map[string]string{"a/.wh...": ""}, "would remove another one"},
		"a whiteout directory":    {map[string]string{".wh.x/a": ""}, "would remove another one"},
		"an escape":               {map[string]string{"a\x1b[2J": ""}, "no file of a package needs"},
		"a backslash":             {map[string]string{`a\..\b`: ""}, "no file of a package needs"},
		"no text":                 {map[string]string{"a\xff": ""}, "no file of a package needs"},
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := OpenTree(plant(t, test.files), "/x", nil)
			if err == nil {
				tree.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
	dir := plant(t, map[string]string{"a": ""})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenTree(dir, "/x", nil); err == nil || !strings.Contains(err.Error(), "neither a file nor a directory") {
		t.Errorf("a pipe: %v", err)
	}
}

// Between looking and writing somebody may put something else there.
func TestTreeThatChanges(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"longer": func(dir string) error { return os.WriteFile(filepath.Join(dir, "a"), []byte("longer"), 0o600) },
		"gone":   func(dir string) error { return os.Remove(filepath.Join(dir, "a")) },
		"replaced": func(dir string) error { // by something of the same size
			other := filepath.Join(filepath.Dir(dir), "other")
			return errors.Join(os.WriteFile(other, []byte("evil"), 0o600), os.Rename(other, filepath.Join(dir, "a")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := plant(t, map[string]string{"a": "text"})
			tree, err := OpenTree(dir, "/x", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer tree.Close()
			if err := change(dir); err != nil {
				t.Fatal(err)
			}
			if err := tree.Write(io.Discard); err == nil {
				t.Error("it is written")
			}
		})
	}
}

// A tree has limits, and what is too much is said before anything is sent.
func TestTreeLimits(t *testing.T) {
	large := plant(t, map[string]string{"a": ""})
	if err := os.Truncate(filepath.Join(large, "a"), maxTreeSize); err != nil { // it takes no space on the disk
		t.Fatal(err)
	}
	many := t.TempDir()
	const names = 50_000 // that a file system lets one file have
	for i := range maxTreeEntries {
		var err error
		path := filepath.Join(many, fmt.Sprint(i))
		if i%names == 0 {
			err = os.WriteFile(path, nil, 0o600)
		} else {
			err = os.Link(filepath.Join(many, fmt.Sprint(i/names*names)), path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ dir, more string }{{large, "b"}, {many, "x"}} {
		tree, err := OpenTree(c.dir, "/skills/npm/x", nil)
		if err != nil {
			t.Fatalf("as much as may be: %v", err)
		}
		tree.Close()
		if err := os.WriteFile(filepath.Join(c.dir, c.more), []byte("1"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenTree(c.dir, "/skills/npm/x", nil); err == nil || !strings.Contains(err.Error(), "there is too much: more than 200000 files, or 2147483648 bytes") {
			t.Errorf("one more: %v", err)
		}
	}
}
