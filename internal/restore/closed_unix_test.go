//go:build unix

package restore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/workspace/rewind"
)

// A directory that cannot be read for a while does not hide what the job does to the files in it.
func TestDirectoriesThatWereClosed(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads every directory; CI runs the tests as another user")
	}
	f := newFixture(t)
	f.sh("mkdir d; echo old > d/a; echo b > d/b")
	before := f.copy()
	f.run("task", func(w *work) {
		w.call(func() { f.sh("chmod 000 d") })
		w.call(func() { f.sh("chmod 755 d; rm d/a; echo new > d/b; echo c > d/c") })
	})
	_, err := f.undo(rewind.Options{})
	f.check(err)
	f.same(before, "undone")
}

// A job makes files and directories unreadable. They are restored like all others, and so is what
// the job left.
func TestClosedByTheJob(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads every file; CI runs the tests as another user")
	}
	const (
		close = "chmod 000 a d/e/f d/e d new closed/c; chmod 100 listed; chmod 400 entered"
		open  = "chmod 755 d d/e new listed entered; chmod 644 a d/e/f closed/c"
	)
	for name, later := range map[string]string{"same step": "", "another step": close} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.sh("mkdir -p d/e listed entered closed; for f in a other d/b d/e/f listed/l entered/n closed/c; do echo old > $f; done; echo mine > mine; chmod 000 mine closed; chmod 700 closed")
			t.Cleanup(func() { f.sh(open) })
			before := f.modes()
			f.run("task", func(w *work) {
				work := "for f in a other d/b d/e/f d/more listed/l entered/n closed/c; do echo job > $f; done; mkdir new; echo job > new/x; "
				if later == "" {
					w.call(func() { f.sh(work + close) })
					return
				}
				w.call(func() { f.sh(work) })
				w.call(func() { f.sh(later) })
				w.call(func() { f.sh("echo more > other") })
			})
			left := f.modes()
			s := f.open()
			_, err := s.Plan(t.Context(), s.History.Files()[0], rewind.Options{})
			f.check(err)
			f.check(s.Close())
			if diff := cmp.Diff(left, f.modes()); diff != "" {
				t.Errorf("a plan changed modes:\n%s", diff)
			}
			result, err := f.undo(rewind.Options{})
			f.check(err)
			if diff := cmp.Diff(before, f.modes()); diff != "" || len(result.Skipped) > 0 {
				t.Errorf("undone, skipped %v:\n%s", result.Skipped, diff)
			}
			f.sh("chmod 600 mine")
			if got := f.output("cat a other d/b d/e/f listed/l entered/n closed/c mine; ls new d/more 2>&1 | wc -l"); got != strings.Repeat("old\n", 7)+"mine\n2\n" {
				t.Errorf("undone: %s", got)
			}
			f.sh("chmod 000 mine")
			_, err = f.restore(restore.Name(result.Safety), rewind.Options{})
			f.check(err)
			if diff := cmp.Diff(left, f.modes()); diff != "" {
				t.Errorf("back again:\n%s", diff)
			}
			f.sh(open)
			if got := f.output("cat a d/b d/e/f d/more listed/l entered/n closed/c new/x"); got != strings.Repeat("job\n", 8) {
				t.Errorf("back again: %s", got)
			}
		})
	}
}

// A link in place of a closed directory is not followed, and another name of a file keeps its mode.
func TestClosedLinks(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads every file; CI runs the tests as another user")
	}
	f := newFixture(t)
	outside := t.TempDir()
	f.check(os.WriteFile(filepath.Join(outside, "a"), []byte("outside"), 0o600))
	f.sh("echo old > a; mkdir d; echo old > d/b")
	f.run("task", func(w *work) {
		w.call(func() { f.sh("rm -r a d; ln " + outside + "/a a; ln -s " + outside + " d; chmod 000 a") })
	})
	f.check(os.Chmod(outside, 0))
	t.Cleanup(func() { _ = os.Chmod(outside, 0o700) })
	s := f.open()
	defer s.Close()
	plan, err := s.Plan(t.Context(), s.History.Files()[0], rewind.Options{})
	f.check(err)
	if refused := (*restore.RefusedError)(nil); !errors.As(plan.Check(), &refused) || len(refused.Lost) != 1 || refused.Lost[0].Path != "a" {
		t.Errorf("%v", plan.Check())
	}
	if info, err := os.Stat(outside); err != nil || info.Mode().Perm() != 0 {
		t.Errorf("the mode outside is %v, %v", info.Mode(), err)
	}
}
