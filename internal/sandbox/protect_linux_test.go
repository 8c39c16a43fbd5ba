package sandbox

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/testkit"
)

// 10,000 random operations from inside do not read, change, replace or move what is protected, in
// a repository with submodules and worktrees, and in a worktree whose repository is elsewhere. The
// same operations without protection do, so the test would notice.
func TestInsideProtectsFromVandals(t *testing.T) {
	testkit.Need(t, "git")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for name, build := range map[string]func(*testing.T, string) string{"repository": realRepository, "worktree": realWorktree} {
		for _, protected := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, protected %t", name, protected), func(t *testing.T) {
				base, err := filepath.EvalSymlinks(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				damage := vandalise(t, build(t, base), seed, protected)
				if protected && len(damage) > 0 {
					t.Errorf("seed %d:\n%s", seed, strings.Join(damage, "\n"))
				}
				if !protected && !slices.ContainsFunc(damage, func(d string) bool { return strings.HasPrefix(d, "read ") }) {
					t.Errorf("without protection no secret was read, so the test proves nothing: %q", damage)
				}
				if !protected && !slices.ContainsFunc(damage, func(d string) bool { return !strings.HasPrefix(d, "read ") }) {
					t.Error("without protection nothing was changed, so the test proves nothing")
				}
			})
		}
	}
}

// vandalise runs 10,000 operations in several commands and returns the damage. The workspace is
// searched again before each command, as for a job.
func vandalise(t *testing.T, dir string, seed uint64, protected bool) (damage []string) {
	t.Helper()
	const rounds, each = 5, 2000
	c := inside(t, self(t, "vandal"))
	c.Dir, c.Policy.Workspace.Path = dir, dir
	s := supervisor(t)
	first, err := policy.Search(t.Context(), dir, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	known := slices.Concat(first.Hidden, first.Frozen, first.Pinned)
	original := newModel(t, dir, first)
	now := original
	for round := range rounds {
		found := first
		if round > 0 {
			if found, err = policy.Search(t.Context(), dir, policy.Options{}); err != nil {
				t.Fatal(err)
			}
			now = newModel(t, dir, &policy.Protected{Frozen: found.Frozen, Pinned: found.Pinned, Write: found.Write})
		}
		p := *c.Policy
		p.Write = first.Write
		if protected {
			p.Hidden, p.Frozen, p.Pinned = found.Hidden, found.Frozen, found.Pinned
		}
		c := c
		c.Policy = &p
		c.Args = append([]string{c.Args[0], fmt.Sprint(seed + uint64(round)), fmt.Sprint(each)}, known...)
		out, err := s.Run(t.Context(), c)
		if err != nil || out.ExitCode != 0 {
			t.Fatalf("round %d: exit code %d, %v\n%s", round, out.ExitCode, err, out.Stderr.String())
		}
		for line := range strings.Lines(out.Stdout.String()) {
			if strings.HasPrefix(line, "read ") {
				damage = append(damage, strings.TrimSpace(line))
			} else if strings.HasPrefix(line, "0 ") {
				t.Error("no operation succeeded, so the test proves nothing")
			}
		}
		for _, tree := range append([]string{dir}, first.Write...) {
			makeReadable(t, tree)
		}
		damage = append(damage, original.damage(t)...)
		damage = append(damage, now.damage(t)...)
		if !protected && len(damage) > 0 && round > 0 {
			return damage // what is left may not be a repository any more
		}
	}
	return damage
}

// A model is what protected files have to be like afterwards.
type model struct {
	trees  []string
	dir    string
	hidden map[uint64]state  // by their inodes: directories around them may be moved
	frozen map[string]string // everything below a path, in words
	pinned map[string]uint64 // inodes
}

type state struct{ path, content string }

func newModel(t *testing.T, dir string, found *policy.Protected) *model {
	t.Helper()
	m := &model{dir: dir, trees: append([]string{dir}, found.Write...), hidden: make(map[uint64]state), frozen: make(map[string]string), pinned: make(map[string]uint64)}
	for _, path := range found.Hidden {
		m.hidden[inode(m.whole(path))] = state{path, everything(m.whole(path))}
	}
	for _, path := range found.Frozen {
		// What a program made itself before can have other names, by which it can change it.
		if all := everything(m.whole(path)); !strings.Contains(all, otherNames) {
			m.frozen[path] = all
		}
	}
	for _, path := range found.Pinned {
		// A repository in which git obeys nothing yet can be moved with the directory around it.
		if around := filepath.Dir(path); around == "." || slices.Contains(found.Pinned, around) || slices.Contains(found.Write, around) {
			m.pinned[path] = inode(m.whole(path))
		}
	}
	return m
}

func (m *model) whole(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(m.dir, path)
}

// damage says what is no longer as it was.
func (m *model) damage(t *testing.T) (all []string) {
	t.Helper()
	paths := make(map[uint64]string)
	for _, tree := range m.trees {
		if err := filepath.WalkDir(tree, func(path string, _ fs.DirEntry, err error) error {
			if err == nil {
				paths[inode(path)] = path
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	for number, was := range m.hidden {
		switch path, ok := paths[number]; {
		case !ok:
			all = append(all, "hidden and gone: "+was.path)
		case filepath.Base(path) != filepath.Base(was.path), everything(path) != was.content:
			all = append(all, fmt.Sprintf("hidden and changed: %s is at %s", was.path, path))
		}
	}
	for path, was := range m.frozen {
		if now := everything(m.whole(path)); now != was {
			all = append(all, fmt.Sprintf("frozen and changed: %s was\n%snow\n%s", path, was, now))
		}
	}
	for path, number := range m.pinned {
		if inode(m.whole(path)) != number {
			all = append(all, "pinned and replaced: "+path)
		}
	}
	return all
}

// inode is the number of a file; 0 without one.
func inode(path string) uint64 {
	var info unix.Stat_t
	if unix.Lstat(path, &info) != nil {
		return 0
	}
	return info.Ino
}

// otherNames is said of a file with hard links.
const otherNames = "has other names"

func hasOtherNames(path string) bool {
	var info unix.Stat_t
	return unix.Lstat(path, &info) == nil && info.Nlink > 1
}

// everything describes a file, link or tree: types, modes and contents.
func everything(top string) string {
	var b strings.Builder
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %d ", strings.TrimPrefix(path, top), inode(path))
		if hasOtherNames(path) && info.Mode().IsRegular() {
			b.WriteString(otherNames + "\n")
			return nil
		}
		fmt.Fprintf(&b, "%s ", info.Mode())
		switch info.Mode().Type() {
		case 0:
			content, err := os.ReadFile(path)
			fmt.Fprintf(&b, "%q %v", content, err)
		case fs.ModeSymlink:
			target, err := os.Readlink(path)
			fmt.Fprintf(&b, "%q %v", target, err)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		fmt.Fprintln(&b, err)
	}
	return b.String()
}

// makeReadable undoes what a program did to the modes of directories: the checks of an ordinary
// user would fail otherwise.
func makeReadable(t *testing.T, top string) {
	t.Helper()
	var open func(dir string)
	open = func(dir string) {
		info, err := os.Lstat(dir)
		if err == nil && info.Mode().Perm()&0o700 != 0o700 {
			err = os.Chmod(dir, info.Mode().Perm()|0o700)
		}
		entries, readErr := os.ReadDir(dir)
		if err != nil || readErr != nil {
			t.Fatal(err, readErr)
		}
		for _, e := range entries {
			if e.IsDir() {
				open(filepath.Join(dir, e.Name()))
			}
		}
	}
	open(top)
}

// git runs git outside of any sandbox, with no settings of this machine.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "HOME=/nonexistent",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// realRepository is a workspace with one of everything that is protected.
func realRepository(t *testing.T, base string) string {
	t.Helper()
	library, dir := filepath.Join(base, "library"), filepath.Join(base, "workspace")
	for _, repository := range []string{library, dir} {
		git(t, base, "init", "-q", "-b", "main", repository)
		write(t, filepath.Join(repository, "src/main.c"), "int main() {}\n")
		git(t, repository, "add", "-A")
		git(t, repository, "commit", "-qm", "first")
	}
	git(t, dir, "submodule", "--quiet", "add", library, "vendor/library")
	git(t, dir, "commit", "-qam", "second")
	git(t, dir, "worktree", "add", "-q", "trees/one")
	git(t, dir, "config", "extensions.worktreeConfig", "true")
	git(t, filepath.Join(dir, "trees/one"), "config", "--worktree", "x.y", "z")
	secrets(t, dir)
	return dir
}

// realWorktree is a workspace whose repository is elsewhere.
func realWorktree(t *testing.T, base string) string {
	t.Helper()
	dir := filepath.Join(base, "tree")
	git(t, realRepository(t, base), "worktree", "add", "-q", dir)
	secrets(t, dir)
	return dir
}

// secrets adds files with protected names, and links to some.
func secrets(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{".env", "src/.env.local", "src/deep/er/.env", "conf/real", "perstack/jobs/j1/journal.jsonl", ".ENV"} {
		write(t, filepath.Join(dir, name), name+" "+secretMark)
	}
	for _, name := range []string{"perstack.toml", "perstack.lock", "team/one/perstack.toml"} {
		write(t, filepath.Join(dir, name), "original "+name)
	}
	for link, target := range map[string]string{"src/.env": "../conf/real", ".env.gone": "nowhere", "team/perstack.toml": "one/perstack.toml"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
}
