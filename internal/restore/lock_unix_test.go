//go:build unix

package restore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/workspace/rewind"
)

// While a job runs in a workspace, nothing is restored there, and jobs do not start during a restore.
func TestWorkspaceLock(t *testing.T) {
	f := newFixture(t)
	f.write("a", "original")
	f.run("task", func(w *work) { w.call(func() { f.write("a", "job") }) })
	link := filepath.Join(t.TempDir(), "link") // the same workspace
	f.check(os.Symlink(f.dir, link))
	var jobs []*restore.Lock
	for range 2 { // jobs do not exclude each other
		lock, err := restore.Enter(t.Context(), f.stateDir, link)
		f.check(err)
		jobs = append(jobs, lock)
	}
	var busy *restore.BusyError
	if _, err := restore.Open(t.Context(), f.options()); !errors.As(err, &busy) || busy.Restore || !strings.Contains(err.Error(), "a job is running in "+f.dir) {
		t.Errorf("%v", err)
	}
	for _, lock := range jobs {
		f.check(lock.Close())
	}
	s := f.open()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := restore.Enter(ctx, f.stateDir, f.dir); !errors.As(err, &busy) || !busy.Restore {
		t.Errorf("%v", err)
	}
	f.check(s.Close())
	lock, err := restore.Enter(t.Context(), f.stateDir, f.dir)
	f.check(err)
	f.check(lock.Close())
	none, err := restore.Enter(t.Context(), "", f.dir)
	if err != nil || none.Close() != nil {
		t.Errorf("without a state directory: %v", err)
	}
}

// What is left of a note about a restore does not stop the next command.
func TestStaleNotes(t *testing.T) {
	f := newFixture(t)
	f.write("a", "original")
	f.run("task", func(w *work) { w.call(func() { f.write("a", "job") }) })
	_, err := f.undo(rewind.Options{})
	f.check(err)
	notes, err := filepath.Glob(filepath.Join(f.stateDir, "workspaces", "*"))
	if err != nil || len(notes) != 1 {
		t.Fatalf("%v, %v", notes, err)
	}
	for name, c := range map[string]struct{ content, finished string }{
		"ended": {`{"storage":"` + f.place.Storage + `","project":"` + f.place.Project + `","job":"j1"}`, "j1"},
		"torn":  {`{"storage":"` + strings.Repeat("x", 1000), ""},
	} {
		f.check(os.WriteFile(notes[0], []byte(c.content), 0o600))
		finished, err := restore.Finish(t.Context(), f.stateDir, f.dir)
		f.check(err)
		if finished != c.finished {
			t.Errorf("%s: finished %q", name, finished)
		}
		if is := f.read("a"); is != "original" {
			t.Errorf("%s: a is %s", name, is)
		}
		// A restore that begins now replaces what was left.
		s := f.open()
		_, err = f.apply(s, s.History.Files()[1], rewind.Options{})
		f.check(err)
		_, err = f.apply(s, s.History.Files()[0], rewind.Options{})
		f.check(errors.Join(err, s.Close()))
		if content, err := os.ReadFile(notes[0]); err != nil || len(content) > 0 {
			t.Errorf("%s: %q is left, %v", name, content, err)
		}
	}
	// The job is gone: that is said once.
	f.check(os.WriteFile(notes[0], []byte(`{"storage":"`+f.place.Storage+`","project":"x","job":"gone"}`), 0o600))
	if _, err := restore.Finish(t.Context(), f.stateDir, f.dir); err == nil || !strings.Contains(err.Error(), "the job is gone") {
		t.Errorf("%v", err)
	}
	_, err = restore.Finish(t.Context(), f.stateDir, f.dir)
	f.check(err)
}

// Without an interrupted restore, there is nothing to take back.
func TestNothingToAbort(t *testing.T) {
	f := newFixture(t)
	f.run("task", func(*work) {})
	o := f.options()
	o.Abort = true
	if _, err := restore.Open(t.Context(), o); !errors.Is(err, restore.ErrNoRestore) {
		t.Errorf("%v", err)
	}
}

// A program replaces a directory by a link while files are restored: nothing is written through it.
func TestLinksAreNotFollowed(t *testing.T) {
	f := newFixture(t)
	outside := t.TempDir()
	f.write("dir/a", "original")
	f.write("b", "original")
	f.run("task", func(w *work) { w.call(func() { f.write("dir/a", "job"); f.write("b", "job") }) })
	s := f.open()
	defer s.Close()
	plan, err := s.Plan(t.Context(), s.History.Files()[0], rewind.Options{})
	f.check(err)
	f.sh("mv dir elsewhere; ln -s " + outside + " dir")
	result, err := s.Apply(t.Context(), plan)
	f.check(err)
	if len(result.Skipped) != 1 || result.Skipped[0].Path != "dir/a" || f.read("b") != "original" {
		t.Errorf("skipped %v, b is %s", result.Skipped, f.read("b"))
	}
	if names, err := os.ReadDir(outside); err != nil || len(names) > 0 {
		t.Errorf("outside there is %v, %v", names, err)
	}
	if is := f.read("elsewhere/a"); is != "job" {
		t.Errorf("elsewhere/a is %s", is)
	}
}

// A journal that another program may have written is not restored from.
func TestUnsealedJobs(t *testing.T) {
	f := newFixture(t)
	f.write("a", "original")
	f.run("task", func(w *work) { w.call(func() { f.write("a", "job") }) })
	f.place.Project = "another"
	if _, err := restore.Open(t.Context(), f.options()); err == nil || !strings.Contains(err.Error(), "another project") {
		t.Errorf("%v", err)
	}
	f.place.Trust = true
	f.check(f.open().Close())
}
