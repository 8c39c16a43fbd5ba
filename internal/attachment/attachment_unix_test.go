//go:build unix

package attachment

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/job"
)

// A workspace, a directory beside it, and links between them.
func TestRead(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "work")
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, path string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(root, path)); err != nil {
			t.Fatal(err)
		}
	}
	write("work/notes.txt", "notes")
	write("work/pics/shot.png", png)
	write("work/.env", "KEY=secret")
	write("work/empty", "")
	write("work/large", strings.Repeat("x", job.MaxAttachmentBytes+1))
	write("home/key", "secret")
	write("home/large", strings.Repeat("x", job.MaxAttachmentBytes+1))
	link("pics/shot.png", "work/inner.png")
	link("../home/key", "work/planted.txt")
	link(filepath.Join(root, "home/key"), "work/absolute.txt")
	link("../home", "work/planted")
	link("work", "alias")
	link("key", "home/mine")
	for path, tt := range map[string]struct {
		kind, refused string
		outside       bool
	}{
		"work/notes.txt":         {kind: "text/plain"},
		"work/pics/shot.png":     {kind: "image/png"},
		"work/inner.png":         {kind: "image/png"},
		"alias/notes.txt":        {kind: "text/plain"},
		"home/key":               {kind: "text/plain", outside: true},
		"home/mine":              {kind: "text/plain", outside: true}, // a link of the user's own
		"work/planted.txt":       {refused: "a link leads out of the workspace"},
		"work/absolute.txt":      {refused: "a link leads out of the workspace"},
		"work/planted/key":       {refused: "a link leads out of the workspace"},
		"alias/planted.txt":      {refused: "a link leads out of the workspace"},
		"alias/planted/key":      {refused: "a link leads out of the workspace"},
		"alias/pics/shot.png":    {kind: "image/png"},
		"work/.env":              {refused: "it can hold secrets"},
		"work/empty":             {refused: "empty"},
		"work/large":             {refused: "larger than 5 MiB"},
		"home/large":             {refused: "larger than 5 MiB"},
		"work":                   {refused: "not a regular file"},
		"work/pics":              {refused: "not a regular file"},
		"home":                   {refused: "not a regular file"},
		"work/missing":           {refused: "no such file"},
		"home/missing":           {refused: "no such file"},
		"missing/missing":        {refused: "no such file"},
		"work/notes.txt/further": {refused: "not a directory"},
	} {
		f, err := Read(t.Context(), filepath.Join(root, path), dir)
		failed, _ := errors.AsType[*Error](err)
		switch {
		case tt.refused != "" && (failed == nil || !strings.Contains(failed.Why, tt.refused)):
			t.Errorf("%s: %+v, %v, want an error with %q", path, f, err, tt.refused)
		case tt.refused != "":
		case err != nil:
			t.Errorf("%s: %v", path, err)
		case f.Info.MIMEType != tt.kind || f.Outside != tt.outside || f.Info.Name != filepath.Base(path) || len(f.Data) == 0:
			t.Errorf("%s: %+v, outside %v", path, f.Info, f.Outside)
		}
	}
}

// Pipes and devices are refused at once, inside of the workspace and outside.
func TestReadPipe(t *testing.T) {
	root := t.TempDir()
	pipe := filepath.Join(root, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, dir string }{{pipe, root}, {pipe, t.TempDir()}, {"/dev/zero", root}} {
		if f, err := Read(t.Context(), tt.path, tt.dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s from %s: %+v, %v", tt.path, tt.dir, f, err)
		}
	}
}
