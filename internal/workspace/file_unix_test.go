//go:build unix

package workspace_test

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/internal/workspace"
)

// Pipes and sockets are refused at once, by all operations and however often.
func TestNotRegular(t *testing.T) {
	h := newFixture(t)
	makePipe(t, filepath.Join(h.dir, "pipe"))
	t.Chdir(h.dir) // the path of a socket is short
	l, err := net.Listen("unix", "sock")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h.link(t, "pipe", "toPipe")
	for range 4 {
		for _, name := range []string{"pipe", "sock", "toPipe"} {
			_, err := h.read(name)
			wantCode(t, err, workspace.NotRegular, "is not a regular file")
			_, err = h.WriteFile(t.Context(), name, []byte("x"))
			wantCode(t, err, workspace.NotRegular, "is not a regular file")
			_, err = h.read(name + "/x")
			wantCode(t, err, workspace.NotADirectory, "is not a directory")
			_, err = h.ReadDir(t.Context(), name, 0, 10)
			wantCode(t, err, workspace.NotADirectory, "is not a directory")
		}
	}
}

func TestWriteFile(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	h := newFixture(t)
	h.link(t, "src/b.txt", "file")
	h.link(t, "nowhere", "dangling")
	h.link(t, "nowhere", "danglingDir")
	h.link(t, "../outside/secret.txt", "leak.txt")
	mode := func(name string) os.FileMode {
		t.Helper()
		info, err := os.Lstat(filepath.Join(h.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	write := func(name, text string) error {
		_, err := h.WriteFile(t.Context(), name, []byte(text))
		return err
	}

	t.Run("new file has the umask", func(t *testing.T) {
		info, err := h.WriteFile(t.Context(), "new/deep/file.txt", []byte("hello"))
		if err != nil {
			t.Fatal(err)
		}
		if info.Path != filepath.Join(h.dir, "new/deep/file.txt") || info.Size != 5 {
			t.Errorf("info = %+v", info)
		}
		if got, _ := h.read("new/deep/file.txt"); got != "hello" {
			t.Errorf("content %q", got)
		}
		if f, d := mode("new/deep/file.txt"), mode("new/deep"); f.Perm() != 0o640 || d.Perm() != 0o750 {
			t.Errorf("modes %v %v", f, d)
		}
	})
	t.Run("existing file keeps its mode, not setuid", func(t *testing.T) {
		if err := os.Chmod(filepath.Join(h.dir, "a.txt"), 0o777|os.ModeSetuid); err != nil {
			t.Fatal(err)
		}
		if err := write("a.txt", ""); err != nil {
			t.Fatal(err)
		}
		if m := mode("a.txt"); m != 0o777 {
			t.Errorf("mode %v", m)
		}
		if got, err := h.read("a.txt"); got != "" || err != nil {
			t.Errorf("content %q, %v", got, err)
		}
	})
	t.Run("a link inside leads to its target", func(t *testing.T) {
		if err := write("file", "through"); err != nil {
			t.Fatal(err)
		}
		if got, _ := h.read("src/b.txt"); got != "through" || mode("file")&os.ModeSymlink == 0 {
			t.Errorf("target %q, link %v", got, mode("file"))
		}
	})
	t.Run("hard links outside keep the old content", func(t *testing.T) {
		other := filepath.Join(h.outside, "twin")
		put(t, filepath.Join(h.dir, "twin"), "old")
		if err := os.Link(filepath.Join(h.dir, "twin"), other); err != nil {
			t.Fatal(err)
		}
		if err := write("twin", "new"); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(other); string(got) != "old" {
			t.Errorf("written through a hard link: %q", got)
		}
	})
	t.Run("refusals", func(t *testing.T) {
		put(t, filepath.Join(h.dir, "ro.txt"), "old")
		put(t, filepath.Join(h.dir, "rodir", "x"), "old")
		for name, m := range map[string]os.FileMode{"ro.txt": 0o444, "rodir": 0o555} {
			if err := os.Chmod(filepath.Join(h.dir, name), m); err != nil {
				t.Fatal(err)
			}
		}
		defer os.Chmod(filepath.Join(h.dir, "rodir"), 0o755)
		tests := []struct {
			name     string
			code     workspace.Code
			fragment string
		}{
			{"ro.txt", workspace.NotWritable, "is not writable: its owner may not write it"},
			{"rodir/new", workspace.NotWritable, "its directory is not writable"},
			{"rodir/new/new", workspace.NotWritable, "is not writable"},
			{"src", workspace.IsADirectory, "is a directory"},
			{".", workspace.IsADirectory, "is a directory"},
			{"fresh/", workspace.NotFound, "does not exist"},
			{"leak.txt", workspace.OutsideWorkspace, "symbolic link"},
			{"dangling", workspace.NotFound, "symbolic link"},
			{"danglingDir/x", workspace.NotFound, "symbolic link"},
			{"../outside/new", workspace.OutsideWorkspace, "path outside allowed directories"},
			{"../new/new", workspace.OutsideWorkspace, "path outside allowed directories"},
			{"perstack/new", workspace.Protected, "history and the state of perstack"},
			{"Perstack/new", workspace.Protected, "history and the state of perstack"},
			{".env", workspace.Protected, "is protected"},
			{".env.local", workspace.Protected, "is protected"},
			{"fresh/.Env", workspace.Protected, "is protected"},
			{"keys.txt", workspace.Protected, "is protected"},
		}
		for _, tt := range tests {
			wantCode(t, write(tt.name, "planted"), tt.code, tt.fragment)
		}
		if got, _ := h.read("ro.txt"); got != "old" {
			t.Errorf("a read-only file was changed to %q", got)
		}
		if got, _ := os.ReadFile(filepath.Join(h.outside, "secret.txt")); string(got) != canary {
			t.Errorf("the file outside was changed to %q", got)
		}
		for _, name := range []string{"fresh", "nowhere", "rodir/new", "../new", "../outside/new"} {
			if _, err := os.Lstat(filepath.Join(h.dir, name)); err == nil {
				t.Errorf("a refused write left %s", name)
			}
		}
	})
	t.Run("nothing is left behind", func(t *testing.T) {
		if left, _ := filepath.Glob(filepath.Join(h.dir, "*", ".perstack-*")); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
		if left, _ := filepath.Glob(filepath.Join(h.dir, ".perstack-*")); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	})
}

// Writers and readers of one file see whole contents, also where parents are created.
func TestWriteFileParallel(t *testing.T) {
	h := newFixture(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			text := string(make([]byte, 100_000+i))
			for range 20 {
				if _, err := h.WriteFile(t.Context(), "x/y/z.txt", []byte(text)); err != nil {
					t.Error(err)
				}
				got, err := h.read("x/y/z.txt")
				if err != nil && !isCode(err, workspace.Changed) || err == nil && len(got) < 100_000 {
					t.Errorf("read %d bytes, %v", len(got), err)
				}
			}
		})
	}
	wg.Wait()
}
