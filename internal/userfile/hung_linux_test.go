package userfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// What a program can put in the place of a file is refused, and none of it is waited for.
func TestReadWhatAProgramPutThere(t *testing.T) {
	dir := t.TempDir()
	pipe, sparse, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "sparse"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	write(t, sparse, "")
	if err := os.Truncate(sparse, 1<<40); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		pipe: "not a regular file", link: "not a regular file", "/dev/zero": "not a regular file", sparse: "larger than 1 MiB",
	} {
		if _, err := Read(path, 1<<20); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
	if names, err := Names(pipe, 10); err == nil {
		t.Errorf("a pipe has the names %q", names)
	}
}

// What arrives too late is closed.
func TestOpenTooLate(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "f"), "x")
	begin, opened := make(chan struct{}), make(chan *os.File, 1)
	_, err := openWithin(time.Millisecond, func() (*os.File, error) {
		<-begin
		f, err := openRegular(path)
		opened <- f
		return f, err
	})
	if !errors.Is(err, ErrNoAnswer) {
		t.Fatal(err)
	}
	close(begin)
	f := <-opened
	for err = nil; !errors.Is(err, os.ErrClosed); _, err = f.Stat() {
		runtime.Gosched() // until it is closed, or the test is ended
	}
}
