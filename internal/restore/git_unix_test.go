//go:build unix

package restore_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/workspace/rewind"
)

// A job plants a hook, makes a branch, commits there and goes elsewhere. After the undo, git finds
// the repository as it was, and the commits can still be reached.
func TestUndoOfGit(t *testing.T) {
	for name, c := range map[string]struct {
		job  string
		kept int // commits that get a name
	}{
		"commit":        {"echo 2 > a; git commit -qam 2", 1},
		"branch":        {"git checkout -qb fix; echo 2 > a; git commit -qam 2", 1},
		"detached":      {"git checkout -q --detach; echo 2 > a; git commit -qam 2", 1},
		"packed":        {"git checkout -qb fix; echo 2 > a; git commit -qam 2; git pack-refs --all", 1},
		"two branches":  {"git checkout -qb fix; echo 2 > a; git commit -qam 2; git checkout -qb more; echo 3 > a; git commit -qam 3", 2},
		"stash":         {"echo 2 > a; git stash -q", 1},
		"only checkout": {"git checkout -qb fix", 0},
		"reset":         {"git reset -q --hard HEAD~1", 1}, // that another commit leads to it is not looked for
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.sh("git init -qb main .; echo 0 > a; git add a; git commit -qm 0; echo 1 > a; git commit -qam 1; echo untracked > u; git status >/dev/null")
			before := f.output("git rev-parse HEAD; git branch -a; git status --porcelain; git fsck --no-dangling 2>&1")
			f.run("task", func(w *work) {
				w.call(func() {
					f.sh("printf '#!/bin/sh\ntouch planted\n' > .git/hooks/pre-commit; " + c.job + "; chmod +x .git/hooks/pre-commit")
				})
			})
			after := f.copy()
			commits := f.output("git rev-list --all --reflog")
			result, err := f.undo(rewind.Options{})
			f.check(err)
			if now := f.output("git rev-parse HEAD; git branch -a; git status --porcelain; git fsck --no-dangling 2>&1"); now != before {
				t.Errorf("before:\n%s\nnow:\n%s", before, now)
			}
			if is := f.read(".git/hooks/pre-commit"); is != "(none)" {
				t.Errorf("the hook is still there: %s", is)
			}
			kept := strings.Fields(f.output("git for-each-ref --format='%(refname)' refs/perstack"))
			if len(kept) != c.kept || c.kept > 0 && kept[0] != "refs/perstack/kept/j1-1" {
				t.Errorf("kept %v, want %d", kept, c.kept)
			}
			// All commits survive without the log of HEAD.
			f.sh("git reflog expire --expire=all --all; git gc -q --prune=now")
			for commit := range strings.FieldsSeq(commits) {
				if name == "stash" {
					break // the commit of the index in a stash has no name of its own
				}
				f.sh("git cat-file -e " + commit)
			}
			_, err = f.restore(restore.Name(result.Safety), rewind.Options{Force: true})
			f.check(err)
			f.sh("git fsck --no-dangling")
			for _, path := range []string{"a", ".git/HEAD", ".git/hooks/pre-commit"} {
				content, err := os.ReadFile(after + "/" + path)
				f.check(err)
				if is := f.read(path); is != strings.TrimSpace(string(content)) {
					t.Errorf("%s is %q", path, is)
				}
			}
		})
	}
}

// A commit that one undo kept is kept by the next, too.
func TestKeptCommitsStay(t *testing.T) {
	f := newFixture(t)
	f.sh("git init -qb main .; echo 0 > a; git add a; git commit -qm 0")
	f.run("first", func(w *work) { w.call(func() { f.sh("echo 1 > a; git commit -qam 1") }) })
	f.run("second", func(w *work) { w.call(func() { f.sh("echo 2 > a; git commit -qam 2") }) })
	for range 2 {
		_, err := f.undo(rewind.Options{})
		f.check(err)
	}
	if log := strings.Fields(f.output("git log --all --format=%s | sort")); !slices.Equal(log, []string{"0", "1", "2"}) {
		t.Errorf("commits %v", log)
	}
	if is := f.read("a"); is != "0" {
		t.Errorf("a is %s", is)
	}
	f.sh("git diff --quiet; git diff --cached --quiet")
}

func TestKeepGit(t *testing.T) {
	f := newFixture(t)
	f.sh("git init -qb main .; echo 0 > a; git add a; git commit -qm 0")
	f.run("task", func(w *work) { w.call(func() { f.sh("echo 1 > a; git commit -qam 1") }) })
	_, err := f.undo(rewind.Options{KeepGit: true})
	f.check(err)
	if log := f.output("git log --format=%s; git status --porcelain"); log != "1\n0\n M a\n" {
		t.Errorf("%q", log)
	}
}

// While git is at work, or if it was killed, nothing is restored.
func TestRefusedByLocksOfGit(t *testing.T) {
	for _, lock := range []string{".git/index.lock", "sub/.git/refs/heads/main.lock"} {
		f := newFixture(t)
		f.sh("git init -qb main .; git init -qb main sub; echo 0 > a")
		f.run("task", func(w *work) { w.call(func() { f.write("a", "1") }) })
		f.write(lock, "")
		_, err := f.undo(rewind.Options{Force: true})
		var refused *restore.RefusedError
		if !errors.As(err, &refused) || !slices.Equal(refused.GitLocks, []string{lock}) {
			t.Errorf("%s: %v", lock, err)
		}
		if is := f.read("a"); is != "1" {
			t.Errorf("a is %s", is)
		}
	}
}

// The repository of a linked worktree lies elsewhere. Files are restored, git is not, and that is said.
func TestRepositoryOutside(t *testing.T) {
	f := newFixture(t)
	repository := t.TempDir()
	f.sh("cd " + repository + "; git init -qb main .; echo 0 > a; git add a; git commit -qm 0; git worktree add -qb side " + f.dir)
	f.run("task", func(w *work) { w.call(func() { f.sh("echo 1 > a; git commit -qam 1") }) })
	s := f.open()
	defer s.Close()
	plan, err := s.Plan(t.Context(), s.History.Files()[0], rewind.Options{})
	f.check(err)
	if !plan.GitOutside {
		t.Error("the plan does not say that the repository is elsewhere")
	}
	_, err = s.Apply(t.Context(), plan)
	f.check(err)
	if is, log := f.read("a"), f.output("git log --format=%s"); is != "0" || log != "1\n0\n" {
		t.Errorf("a is %s, the log is %q", is, log)
	}
}
