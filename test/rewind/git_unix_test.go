//go:build unix

package rewind

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// looksLike is what git says of a repository. It writes the index, as the commands of users do.
const looksLike = `git status --porcelain=v2 --branch; git symbolic-ref HEAD || git rev-parse HEAD
git for-each-ref | grep -v refs/perstack/; git ls-files -s; git diff; git stash list; git worktree list --porcelain | grep -v '^worktree '
ls -l .git/hooks | sed 's/.* //'; git config --list --local; git fsck --no-dangling 2>&1`

// After an undo, git says what it said before the run, whatever that did to the repository. No commit
// is lost.
func TestGitIsAsBefore(t *testing.T) {
	tests := map[string]string{
		"checkout":       "git stash -q; git checkout -q other; echo job > a",
		"new branch":     "git checkout -qb fix; echo job > a; git commit -qam job",
		"commit":         "git add -A; git commit -qm job",
		"amended commit": "git commit -qa --amend -m job",
		"planted hook":   "printf '#!/bin/sh\\ntouch stolen\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git config core.hooksPath .git/hooks",
		"removed branch": "git branch -qD other",
		"merge":          "git commit -qam job; git merge -q -m merged other",
		"conflict":       "git commit -qam job; git checkout -q other; echo theirs > a; git commit -qam theirs; git merge main || true",
		"rebase":         "git commit -qam job; git rebase -q other || true",
		"packed refs":    "git pack-refs --all; git commit -qam job",
		"tag":            "git tag -am job v1; git tag -d old",
		"detached":       "git checkout -q --detach; git commit -qam job",
		"reset":          "git reset -q --hard HEAD~1",
		"worktree":       "git worktree add -q tree other",
		"removed":        "git rm -qrf .; git commit -qm job",
	}
	for name, script := range tests {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.sh(initRepository + `; echo one > a; echo b > b; git add -A; git commit -qm first
git checkout -qb other; echo two > a; echo c > c; git add -A; git commit -qm second; git tag old; git checkout -q main
echo zero > b; git commit -qam third; echo changed >> b; echo staged > staged; git add staged; echo new > untracked`)
			said, want := p.sh(looksLike), p.mustList()
			if code, out := p.runOnce([]string{script + "\ntrue"}, "--job-id", jobID); code != 0 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			after := p.mustList()
			commits := p.sh("git rev-list --all HEAD 2>&1 || true")
			p.sh("git status > /dev/null") // which the user may do
			out := p.must("undo", jobID)
			if diff := cmp.Diff(said, p.sh(looksLike)); diff != "" {
				t.Errorf("git says (- before, + after the undo):\n%s\n%s", diff, out)
			}
			got := p.mustList()
			for path := range want.changed(got) {
				if path != gitIndex && !strings.HasPrefix(path, ".git/worktrees") { // which keeps its logs
					t.Errorf("%s is %q, want %q", path, got[path], want[path])
				}
			}
			kept := p.sh("git rev-list --all HEAD")
			for commit := range strings.FieldsSeq(commits) {
				if !strings.Contains(kept, commit) {
					t.Errorf("commit %s has no name any more", commit)
				}
			}
			again := back(out)
			if again == nil {
				t.Fatalf("the job changed nothing\n%s", out)
			}
			p.must(again...)
			got = p.mustList()
			for path := range after.changed(got) {
				if path != gitIndex {
					t.Errorf("back again: %s is %q, want %q", path, got[path], after[path])
				}
			}
		})
	}
}

// What perstack diff prints, git applies: it turns the first state into the last.
func TestGitAppliesDiffs(t *testing.T) {
	for seed := range uint64(6) {
		s := &scene{project: newProject(t), chance: rand.New(rand.NewPCG(seed, 3))}
		s.sh("mkdir -p d/e; for f in a b d/a d/e/f 'sp ace'; do seq 20 > \"$f\"; done; ln -s a link; chmod +x b")
		other := filepath.Join(t.TempDir(), "copy")
		s.sh("cp -a . '" + other + "'")
		var scripts []string
		for range 3 {
			script := "echo 20 >> a"
			for range 4 {
				if c := s.change(jobNames, false); !strings.Contains(c, `\000`) && !strings.Contains(c, "/dev/zero") {
					script += "\n" + c
				}
			}
			scripts = append(scripts, script)
		}
		if code, out := s.runOnce(scripts, "--job-id", jobID); code != 0 {
			t.Fatalf("exit code %d\n%s", code, out)
		}
		patch := s.must("diff", jobID)
		cmd := exec.Command("git", "apply", "--whitespace=nowarn", "-")
		cmd.Dir, cmd.Stdin = other, strings.NewReader(patch)
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(other))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("seed %d: %v: %s\n%s", seed, err, out, patch)
		}
		want := gitView(s.mustList())
		s.ws = other
		if diff := cmp.Diff(want, gitView(s.mustList())); diff != "" {
			t.Errorf("seed %d: (- workspace, + patched):\n%s\n%s", seed, diff, patch)
		}
	}
}

// gitView returns what git knows of files: neither directories nor most permissions.
func gitView(all listing) listing {
	view := listing{}
	for path, is := range all {
		switch {
		case strings.HasPrefix(is, "d"):
		case strings.HasPrefix(is, "-"):
			view[path] = fmt.Sprint(is[3] == 'x', is[len("-rw-r--r--"):])
		default:
			view[path] = is
		}
	}
	return view
}
