//go:build unix

package protect

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The user cannot look at what cannot be read, so it is not accepted. When it is deleted, the
// user can accept that.
func TestAcceptOnlyWhatCanBeRead(t *testing.T) {
	for name, tt := range map[string]struct {
		plant func(w *world, path string) error
		want  string // "" if it is accepted
	}{
		"a pipe": {func(_ *world, path string) error { return syscall.Mkfifo(path, 0o600) }, ".env is a pipe, which perstack never reads"},
		"a link to a pipe": {func(w *world, path string) error {
			w.check(syscall.Mkfifo(w.at("pipe"), 0o600))
			return os.Symlink("pipe", path)
		}, ".env leads to a pipe, which perstack never reads"},
		"a socket": {func(w *world, path string) error {
			// The path of the workspace can be too long for a socket.
			short, err := os.MkdirTemp("", "s")
			w.check(err)
			w.Cleanup(func() { os.RemoveAll(short) })
			l, err := net.Listen("unix", filepath.Join(short, "s"))
			w.check(err)
			w.Cleanup(func() { l.Close() })
			return os.Link(filepath.Join(short, "s"), path)
		}, ".env is a socket, which perstack never reads"},
		"a device":          {func(_ *world, path string) error { return os.Symlink(os.DevNull, path) }, ".env leads to a device, which perstack never reads"},
		"a link to itself":  {func(_ *world, path string) error { return os.Symlink(".env", path) }, ".env cannot be read: too many"},
		"too large":         {func(w *world, path string) error { w.write(".env", ""); return os.Truncate(path, maxDigest+1) }, ".env cannot be read: larger than 32 MiB"},
		"without a right":   {func(w *world, path string) error { w.write(".env", "job"); return os.Chmod(path, 0) }, ".env cannot be read: permission denied"},
		"a file":            {func(w *world, _ string) error { w.write(".env", "job"); return nil }, ""},
		"a directory":       {func(_ *world, path string) error { return os.Mkdir(path, 0o700) }, ""},
		"a link to nothing": {func(_ *world, path string) error { return os.Symlink("nothing", path) }, ""},
	} {
		if name == "without a right" && os.Geteuid() == 0 {
			continue // root can read everything
		}
		for _, running := range []bool{false, true} {
			w := newWorld(t)
			w.write(".env", "user")
			job := w.begin("job")
			path := w.at(".env")
			w.check(os.Remove(path))
			w.check(tt.plant(w, path))
			if !running {
				w.end(job)
			}
			marks := w.open()
			c, err := marks.Check(path)
			w.check(err)
			err = marks.Accept(c)
			if tt.want == "" {
				if got := w.refused(".env"); err != nil || got != "" {
					t.Errorf("%s, running %t: %v, %q", name, running, err, got)
				}
				continue
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || w.refused(".env") != "changed .env" {
				t.Errorf("%s, running %t: %v, %q", name, running, err, w.refused(".env"))
			}
			w.check(os.Remove(path))
			w.accept(path)
			if got := w.refused(".env"); got != "" {
				t.Errorf("%s, running %t: it is deleted, and refused for %q", name, running, got)
			}
		}
	}
}
