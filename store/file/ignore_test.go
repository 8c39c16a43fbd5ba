//go:build unix

package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// The conversations in a storage are kept out of version control, whatever a repository
// brings along, and a project that someone made the storage is not.
func TestIgnoreFile(t *testing.T) {
	tests := []struct {
		name  string
		files []string // there before; a directory ends in a slash
		want  string   // where the file is to be, below the storage directory
	}{
		{"new", nil, ignoreName},
		{"empty", []string{"perstack/"}, ignoreName},
		{"only jobs", []string{"perstack/jobs/"}, ignoreName},
		{"only jobs and what a crash left", []string{"perstack/jobs/", "perstack/.gitignore.X.tmp"}, ignoreName},
		{"an empty file that a power cut left", []string{"perstack/jobs/", "perstack/.gitignore"}, ignoreName},
		{"came with a repository", []string{".git/", "perstack/README.md"}, "jobs/" + ignoreName},
		{"a project", []string{"perstack/.git/", "perstack/main.go"}, "jobs/" + ignoreName},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			top := t.TempDir()
			for _, name := range test.files {
				if name[len(name)-1] == '/' {
					writeFile(t, filepath.Join(top, name, "x"), nil)
					os.Remove(filepath.Join(top, name, "x"))
					continue
				}
				writeFile(t, filepath.Join(top, name), nil)
			}
			s := New(filepath.Join(top, "perstack"), nil)
			for range 2 {
				mustClose(t, mustOpen(t, s))
			}
			for _, name := range []string{ignoreName, "jobs/" + ignoreName} {
				data, err := os.ReadFile(filepath.Join(s.dir, name))
				if name == test.want && string(data) != "*\n" || name != test.want && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s: %q, %v; it should be %s alone", name, data, err, test.want)
				}
			}
		})
	}
}

// The file belongs to the user, once it is there.
func TestIgnoreFileIsKept(t *testing.T) {
	s, _, _ := sampleJob(t)
	name := filepath.Join(s.dir, ignoreName)
	writeFile(t, name, []byte("!*\n"))
	mustClose(t, mustOpen(t, s))
	if got := string(readFile(t, name)); got != "!*\n" {
		t.Errorf("it holds %q", got)
	}
}

// A link that the user allowed has a name of its own.
func TestIgnoreFileBehindLink(t *testing.T) {
	top := t.TempDir()
	writeFile(t, filepath.Join(top, "docs", "index.md"), nil)
	if err := os.Symlink("docs", filepath.Join(top, "perstack")); err != nil {
		t.Fatal(err)
	}
	mustClose(t, mustOpen(t, New(filepath.Join(top, "perstack"), &Options{AllowLink: true})))
	if _, err := os.Lstat(filepath.Join(top, "docs", ignoreName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the target of a link is hidden from git (%v)", err)
	}
}
