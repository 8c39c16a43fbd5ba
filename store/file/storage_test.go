//go:build unix

package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ways are all the ways into a store.
var ways = map[string]func(t *testing.T, s *Store) error{
	"Open": func(t *testing.T, s *Store) error {
		j, err := s.Open(t.Context(), "job1")
		if err == nil {
			err = j.Close()
		}
		return err
	},
	"Read": func(t *testing.T, s *Store) error {
		for _, err := range s.Read(t.Context(), "job1", 0) {
			if err != nil {
				return err
			}
		}
		return nil
	},
	"Jobs": func(t *testing.T, s *Store) error {
		for _, err := range s.Jobs(t.Context()) {
			if err != nil {
				return err
			}
		}
		return nil
	},
	"FindJob": func(t *testing.T, s *Store) error {
		_, err := s.FindJob(t.Context(), "job1")
		return err
	},
	"RecordedHead": func(t *testing.T, s *Store) error {
		_, err := s.RecordedHead(t.Context(), "job1")
		return err
	},
}

// soon fails the test if f waits. The pipe is then opened, so that f can continue.
func soon(t *testing.T, pipe string, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(5 * time.Second):
		t.Error("it waits for the other end of a pipe")
	}
	if w, err := os.OpenFile(pipe, os.O_RDWR, 0); err == nil {
		defer w.Close()
	}
	return <-done
}

// A pipe in the place of a directory is refused, without waiting for its other end.
func TestPipes(t *testing.T) {
	for place, want := range map[string]string{
		".":    "is not a directory; choose another storage directory",
		"jobs": "is not a directory (it is a pipe); move it away, or choose another storage directory",
	} {
		for way, call := range ways {
			t.Run(way+" "+place, func(t *testing.T) {
				s := New(filepath.Join(t.TempDir(), "perstack"), &Options{AllowLink: true})
				pipe := filepath.Join(s.dir, place)
				if err := errors.Join(os.MkdirAll(filepath.Dir(pipe), 0o700), unix.Mkfifo(pipe, 0o600)); err != nil {
					t.Fatal(err)
				}
				err := soon(t, pipe, func() error { return call(t, s) })
				if err == nil || !strings.Contains(err.Error(), pipe+" "+want) {
					t.Errorf("%v, want %s", err, want)
				}
			})
		}
	}
}

// A repository can bring a link along that leads conversations into a directory which
// is committed. Only a user who names the directory may mean that.
func TestStorageIsLink(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := errors.Join(os.Mkdir("docs", 0o755), os.Symlink("docs", "perstack"), os.Symlink("a\x1b[2Jb", "hostile")); err != nil {
		t.Fatal(err)
	}
	for way, call := range ways {
		err := call(t, New("perstack", nil))
		if want := "perstack is a symbolic link to docs; use its target as the storage directory"; err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", way, err, want)
		}
		if err := call(t, New("hostile", nil)); err == nil || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: %q", way, err)
		}
	}
	if entries, err := os.ReadDir("docs"); err != nil || len(entries) > 0 {
		t.Errorf("the target holds %v (%v)", entries, err)
	}
	named := New("perstack", &Options{AllowLink: true})
	mustClose(t, mustOpen(t, named))
	if _, err := os.Lstat("docs/jobs/job1"); err != nil {
		t.Error(err)
	}
	mustClose(t, mustOpen(t, New("docs/../docs/", nil)))
}

// What the owner took away is not given back, and what others may do is taken away.
func TestModesAreOnlyTightened(t *testing.T) {
	for before, after := range map[fs.FileMode]fs.FileMode{0o500: 0o500, 0o755: 0o700, 0o555: 0o500, 0o750: 0o700} {
		s, _, _ := sampleJob(t)
		names := []string{filepath.Dir(s.path(".")), s.path(".")}
		for _, name := range names {
			if err := os.Chmod(name, before); err != nil {
				t.Fatal(err)
			}
		}
		if j, err := s.Open(t.Context(), "job1"); err == nil { // for root, everything is writable
			mustClose(t, j)
		}
		for _, name := range names {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != after {
				t.Errorf("%s was %v and is %v, want %v (%v)", name, before, info.Mode().Perm(), after, err)
			}
			os.Chmod(name, 0o700)
		}
	}
}

// A directory that its owner made read-only is not written to, and the error names it.
func TestReadOnlyDirectories(t *testing.T) {
	for place, job := range map[string]string{".": "job1", "jobs": "job2", "jobs/job1": "job1"} {
		t.Run(place, func(t *testing.T) {
			s, name, whole := sampleJob(t)
			if place == "." {
				os.RemoveAll(filepath.Join(s.dir, jobsName)) // nothing to continue
			}
			locked := filepath.Join(s.dir, place)
			giveAway(t, filepath.Dir(s.dir))
			if err := os.Chmod(locked, 0o500); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(locked, 0o700)
			var err error
			asOtherUser(t, func() { _, err = s.Open(t.Context(), job) })
			if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), locked+" cannot be written to") {
				t.Errorf("%v, want that %s cannot be written to", err, locked)
			}
			if place != "." && string(readFile(t, name)) != string(whole) {
				t.Error("the journal was changed")
			}
		})
	}
}
