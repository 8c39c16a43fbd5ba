//go:build unix

package restore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/restore"
)

// A job in a directory above or below the workspace excludes a restore, and the other way round.
func TestNestedWorkspaces(t *testing.T) {
	f := newFixture(t)
	f.write("sub/a", "original")
	f.run("task", func(w *work) { w.call(func() { f.write("sub/a", "job") }) })
	beside := f.dir + "-beside" // its path begins like that of the workspace
	f.check(os.Mkdir(beside, 0o755))
	link := filepath.Join(t.TempDir(), "link")
	f.check(os.Symlink(f.path("sub"), link))
	enter := func(dir string) (*restore.Lock, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		return restore.Enter(ctx, f.stateDir, dir)
	}
	for dir, want := range map[string]string{
		f.path("sub"): f.path("sub"), link: f.path("sub"), f.path("sub/later"): f.path("sub/later"),
		filepath.Dir(f.dir): filepath.Dir(f.dir), "/": "/", beside: "",
	} {
		job, err := enter(dir)
		f.check(err)
		second, err := enter(f.dir) // jobs do not exclude each other
		f.check(err)
		f.check(second.Close())
		var busy *restore.BusyError
		s, err := restore.Open(t.Context(), f.options())
		switch {
		case err == nil:
			f.check(s.Close())
			if want != "" {
				t.Errorf("a job in %s does not exclude a restore", dir)
			}
		case !errors.As(err, &busy) || busy.Restore || busy.Workspace != want:
			t.Errorf("%s: %v", dir, err)
		}
		f.check(job.Close())
		s = f.open()
		job, err = enter(dir)
		switch {
		case err == nil:
			f.check(job.Close())
			if want != "" {
				t.Errorf("a restore does not exclude a job in %s", dir)
			}
		case want == "" || !errors.As(err, &busy) || !busy.Restore || busy.Workspace != f.dir:
			t.Errorf("%s: %v", dir, err)
		}
		f.check(s.Close())
	}
	if left := f.paths(); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// A process that is killed leaves its path, which does not exclude anything, and is removed.
func TestPathOfAKilledProcess(t *testing.T) {
	f := newFixture(t)
	f.run("task", func(*work) {})
	job, err := restore.Enter(t.Context(), f.stateDir, f.path("sub"))
	f.check(err)
	paths := f.paths()
	if len(paths) != 1 {
		t.Fatalf("there is %v", paths)
	}
	f.check(job.Close())
	f.check(os.WriteFile(paths[0], []byte(f.path("sub")), 0o600))
	f.check(f.open().Close())
	if left := f.paths(); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func (f *fixture) paths() []string {
	paths, err := filepath.Glob(filepath.Join(f.stateDir, "workspaces", "*.path"))
	f.check(err)
	return paths
}

// Jobs and restores in nested workspaces begin and end all the time: they never work at once.
func TestNestedWorkspacesRace(t *testing.T) {
	f := newFixture(t)
	f.run("task", func(*work) {})
	var jobs, restores atomic.Int32
	// work is long enough to meet others that work.
	work := func(own, others *atomic.Int32) {
		own.Add(1)
		defer own.Add(-1)
		for range 20 {
			if _, err := os.ReadDir(f.stateDir); err != nil {
				t.Error(err)
			}
			if others.Load() > 0 {
				t.Error("a job works during a restore")
			}
		}
	}
	var group sync.WaitGroup
	for _, dir := range []string{f.path("a"), f.path("a/b"), filepath.Dir(f.dir), f.dir} {
		group.Go(func() {
			for range 100 {
				lock, err := restore.Enter(t.Context(), f.stateDir, dir)
				if err == nil {
					work(&jobs, &restores)
					err = lock.Close()
				}
				if err != nil && !isBusy(err) {
					t.Error(err)
				}
			}
		})
	}
	group.Go(func() {
		for range 200 {
			s, err := restore.Open(t.Context(), f.options())
			if err == nil {
				work(&restores, &jobs)
				err = s.Close()
			}
			if err != nil && !isBusy(err) {
				t.Error(err)
			}
		}
	})
	group.Wait()
}

func isBusy(err error) bool {
	var busy *restore.BusyError
	return errors.As(err, &busy)
}
