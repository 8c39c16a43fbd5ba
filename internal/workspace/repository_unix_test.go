//go:build unix

package workspace_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/attack"
	"github.com/perstack-go/perstack/internal/workspace"
)

// bare is what git needs to take a directory for a repository, and a setting that makes
// "git status" run a command.
func bare(marker string) map[string]string {
	return map[string]string{
		"HEAD": "ref: refs/heads/main\n", "objects/x": "", "refs/heads/x": "",
		"config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n\tfsmonitor = \"touch " + marker + "; false\"\n",
	}
}

// obeys reports whether "git status" in a directory runs the command of the setting.
func obeys(t *testing.T, dir, marker string) bool {
	t.Helper()
	if _, err := os.Stat(dir); err != nil {
		return false
	}
	cmd := exec.CommandContext(t.Context(), "git", "status")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(marker), "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(marker)}
	_ = cmd.Run() // in a directory that is no repository it fails
	_, err := os.Stat(marker)
	_ = os.Remove(marker)
	return err == nil
}

// permutations returns all orders of n numbers.
func permutations(n int) (all [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, rest := range permutations(n - 1) {
		for i := range n {
			all = append(all, append(append(append([]int{}, rest[:i]...), n-1), rest[i:]...))
		}
	}
	return all
}

// In whatever order and by whatever calls the files of a bare repository are made, git does
// not take the directory for one. Made without the workspace, it does: the test can fail.
func TestNoRepositoryIsMade(t *testing.T) {
	testkit.Need(t, "git")
	h := newFixture(t)
	marker := filepath.Join(filepath.Dir(h.dir), "ran")
	files := bare(marker)
	for name, text := range files {
		put(t, filepath.Join(h.outside, "control", name), text)
	}
	if !obeys(t, filepath.Join(h.outside, "control"), marker) {
		t.Fatal("git does not obey a bare repository; the test shows nothing")
	}
	names := []string{"HEAD", "objects/x", "refs/heads/x", "config"}
	ways := map[string]func(dir, name string) error{
		"write": func(dir, name string) error {
			_, err := h.WriteFile(t.Context(), dir+"/"+name, []byte(files[name]))
			return err
		},
		"move a file": func(dir, name string) error {
			if _, err := h.WriteFile(t.Context(), "draft", []byte(files[name])); err != nil {
				t.Fatal(err)
			}
			_, _, err := h.Move(t.Context(), "draft", dir+"/"+name)
			if err != nil {
				h.RemoveFile(t.Context(), "draft")
			}
			return err
		},
		"move a directory": func(dir, name string) error {
			first, rest, isDir := strings.Cut(name, "/")
			if !isDir {
				_, err := h.WriteFile(t.Context(), dir+"/"+name, []byte(files[name]))
				return err
			}
			if _, err := h.WriteFile(t.Context(), "drafts/"+rest, []byte(files[name])); err != nil {
				t.Fatal(err)
			}
			_, _, err := h.Move(t.Context(), "drafts", dir+"/"+first)
			if err != nil {
				h.RemoveDir(t.Context(), "drafts", true)
			}
			return err
		},
		"make a directory": func(dir, name string) error {
			if first, _, isDir := strings.Cut(name, "/"); isDir {
				_, err := h.MakeDir(t.Context(), dir+"/"+first)
				return err
			}
			_, err := h.WriteFile(t.Context(), dir+"/"+name, []byte(files[name]))
			return err
		},
	}
	n := 0
	for way, do := range ways {
		for _, order := range permutations(len(names)) {
			n++
			dir := fmt.Sprint("new", n)
			refused := 0
			for _, i := range order {
				err := do(dir, names[i])
				if err != nil {
					wantCode(t, err, workspace.Protected, "repository")
					refused++
				}
			}
			if refused == 0 || obeys(t, filepath.Join(h.dir, dir), marker) {
				t.Errorf("%s in the order %v: %d refused, and git obeys", way, order, refused)
			}
			// Nor after it is moved to where git looks, or something in it is renamed.
			for _, to := range []string{".git", "deep/.GIT", dir + "x/.git"} {
				_, _, err := h.Move(t.Context(), dir, to)
				wantCode(t, err, workspace.Protected, ".git")
			}
		}
	}
	attack.Held(t, "T10", 24*4) // orders and ways
}

// The last two names that make a repository, made at the same time.
func TestNoRepositoryIsMadeInParallel(t *testing.T) {
	h := newFixture(t)
	for i := range 200 {
		dir := fmt.Sprint("p", i)
		if _, err := h.WriteFile(t.Context(), dir+"/config", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := h.WriteFile(t.Context(), dir+"/y", nil); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { h.WriteFile(t.Context(), dir+"/HEAD", nil) })
		wg.Go(func() { h.MakeDir(t.Context(), dir+"/objects") })
		wg.Go(func() { h.WriteFile(t.Context(), dir+"/refs/heads/x", nil) })
		wg.Go(func() { h.Move(t.Context(), dir+"/y", dir+"/commondir") })
		wg.Wait()
		has := func(name string) bool { return h.exists(dir + "/" + name) }
		if has("HEAD") && (has("commondir") || has("objects") && has("refs")) {
			t.Fatalf("round %d made a repository", i)
		}
	}
}

// A repository that is there, whatever its name and layout, is read and not changed: neither
// by its name nor through a link, and it is not moved or deleted with what is around it.
func TestRepositoryIsNotChanged(t *testing.T) {
	testkit.Need(t, "git")
	h := newFixture(t)
	marker := filepath.Join(filepath.Dir(h.dir), "ran")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = h.dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(marker), "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "--bare", "store/lib.git")              // a bare repository
	git("init", "-q", "--separate-git-dir", ".bare", "split") // split/.git is a file "gitdir: …/.bare"
	git("-C", "split", "commit", "-q", "--allow-empty", "-m", "x")
	git("-C", "split", "worktree", "add", "-q", "../tree") // tree/.git names .bare/worktrees/tree
	h.link(t, "store/lib.git", "lib")
	h.link(t, "store/lib.git/hooks", "hooks")
	h.link(t, ".bare/config", "cfg")
	before := h.all(t)
	write := func(name string) error {
		_, err := h.WriteFile(t.Context(), name, []byte(bare(marker)["config"]))
		return err
	}
	for _, dir := range []string{"store/lib.git", "lib", "src/../store/lib.git", ".bare", ".bare/worktrees/tree"} {
		for _, name := range []string{"config", "config.worktree", "hooks/post-checkout", "info/attributes", "commondir", "gitdir", "HEAD", "new/x", "objects/info/alternates"} {
			wantCode(t, write(dir+"/"+name), workspace.Protected, "git repository")
		}
		_, err := h.AppendFile(t.Context(), dir+"/HEAD", []byte("x"))
		wantCode(t, err, workspace.Protected, "git repository")
		_, err = h.EditFile(t.Context(), dir+"/HEAD", 1000, func([]byte) ([]byte, error) { return nil, nil })
		wantCode(t, err, workspace.Protected, "git repository")
		_, err = h.RemoveFile(t.Context(), dir+"/HEAD")
		wantCode(t, err, workspace.Protected, "git repository")
		_, _, err = h.Move(t.Context(), dir+"/HEAD", "head")
		wantCode(t, err, workspace.Protected, "git repository")
		_, _, err = h.Move(t.Context(), "a.txt", dir+"/hooks/pre-commit")
		wantCode(t, err, workspace.Protected, "git repository")
		_, err = h.MakeDir(t.Context(), dir+"/x")
		wantCode(t, err, workspace.Protected, "git repository")
		if got, err := h.read(dir + "/HEAD"); got == "" {
			t.Errorf("read %s/HEAD: %v", dir, err)
		}
	}
	for _, name := range []string{"hooks/pre-commit", "cfg"} {
		wantCode(t, write(name), workspace.Protected, "git repository")
	}
	for _, dir := range []string{"store/lib.git", "store", ".bare", "split", "tree"} {
		_, _, err := h.Move(t.Context(), dir, "elsewhere")
		wantCode(t, err, workspace.Protected, "git repository")
		_, err = h.RemoveDir(t.Context(), dir, true)
		wantCode(t, err, workspace.Protected, "git repository")
	}
	if after := h.all(t); after != before {
		t.Errorf("refused calls changed something:\n%s\nbefore:\n%s", after, before)
	}
	attack.Held(t, "T10", 1)
}

// Spellings that a file system takes for the names of a repository complete it, and a link
// counts as what it leads to. Names that are only similar are ordinary.
func TestRepositorySpellings(t *testing.T) {
	h := newFixture(t)
	put(t, filepath.Join(h.dir, "half", "HEAD"), "")
	h.link(t, "../src", "half/objects")
	h.link(t, "half", "alias")
	put(t, filepath.Join(h.dir, "rest", "objects", "x"), "")
	put(t, filepath.Join(h.dir, "rest", "refs", "x"), "")
	for _, name := range []string{
		"half/refs", "half/Refs", "half/REFS/heads/main", "half/re\u200bfs", "half/ｒｅｆｓ", "half/refs.", "half/commondir", "half/CommonDir",
		"alias/refs/x", "rest/HEAD", "rest/head", "rest/HE\u200cAD", "rest/HEAD ", "src/../rest/HEAD",
	} {
		_, err := h.WriteFile(t.Context(), name, []byte("x"))
		wantCode(t, err, workspace.Protected, "git would take a directory for a repository")
		_, err = h.MakeDir(t.Context(), name)
		wantCode(t, err, workspace.Protected, "git would take a directory for a repository")
		_, _, err = h.Move(t.Context(), "a.txt", name)
		wantCode(t, err, workspace.Protected, "git would take a directory for a repository")
	}
	for _, name := range []string{"half/ref", "half/config", "half/hooks/x", "rest/HEAD.md", "rest/ahead", "HEAD", "objects/HEAD", "x/commondir"} {
		if _, err := h.WriteFile(t.Context(), name, []byte("x")); err != nil {
			t.Errorf("write %s: %v", name, err)
		}
	}
}

// The root of a workspace can be completed, too: there git looks first.
func TestRootBecomesNoRepository(t *testing.T) {
	h := open(t, t.TempDir())
	for _, name := range []string{"HEAD", "config", "objects/x"} {
		if _, err := h.WriteFile(t.Context(), name, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	_, err := h.WriteFile(t.Context(), "refs/x", []byte("x"))
	wantCode(t, err, workspace.Protected, "git would take a directory for a repository")
}
