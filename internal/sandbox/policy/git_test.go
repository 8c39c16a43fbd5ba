package policy

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// git runs git in a directory, with no configuration of the user.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "protocol.file.allow=always", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// project makes a repository with a commit.
func project(t testing.TB, dir string) {
	t.Helper()
	build(t, dir, "file")
	git(t, dir, "init", "-q")
	git(t, dir, "add", "file")
	git(t, dir, "commit", "-q", "-m", "first")
}

func find(t *testing.T, dir string, places Places) *Protected {
	t.Helper()
	got, err := Search(t.Context(), dir, Options{Places: places})
	if err != nil {
		t.Fatal(err)
	}
	valid(t, dir, got)
	return got
}

func TestSearchRealRepository(t *testing.T) {
	dir := tempDir(t)
	project(t, filepath.Join(dir, "library"))
	top := filepath.Join(dir, "top")
	project(t, top)
	git(t, top, "submodule", "--quiet", "add", filepath.Join(dir, "library"), "deps/library")
	git(t, top, "worktree", "add", "-q", filepath.Join(dir, "branch"), "-b", "branch")

	got := find(t, top, Places{})
	want := &Protected{
		Frozen: []string{
			".git/config", ".git/hooks", ".git/modules/deps/library/config", ".git/modules/deps/library/hooks", ".git/worktrees/branch/commondir", "deps/library/.git",
		},
		Pinned: []string{".git", ".git/modules", ".git/modules/deps", ".git/modules/deps/library", ".git/worktrees", ".git/worktrees/branch", "deps", "deps/library"},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestSearchRealWorktree(t *testing.T) {
	dir := tempDir(t)
	top, branch := filepath.Join(dir, "top"), filepath.Join(dir, "branch")
	project(t, top)
	git(t, top, "worktree", "add", "-q", branch)
	git(t, top, "config", "extensions.worktreeConfig", "true")
	git(t, branch, "config", "--worktree", "core.pager", "cat")
	build(t, top, ".git/deep/.env")

	got := find(t, branch, Places{Home: filepath.Join(dir, "home")})
	at := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(top, ".git", name))
		}
		return paths
	}
	want := &Protected{
		Hidden: at("deep/.env"),
		Frozen: append([]string{".git"}, at("config", "hooks", "worktrees/branch/commondir", "worktrees/branch/config.worktree")...),
		Pinned: at("deep", "worktrees", "worktrees/branch"),
		Write:  at(""),
	}
	slices.Sort(want.Frozen)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if got := find(t, branch, Places{Home: top}); len(got.Write) != 1 {
		t.Errorf("a repository in the home directory: %+v", got)
	}
	for name, places := range map[string]Places{
		"the state directory in it": {State: filepath.Join(top, ".git", "state")},
		"it is in the state":        {State: top},
		"it is home":                {Home: filepath.Join(top, ".git")},
	} {
		if got := find(t, branch, places); len(got.Write) != 0 || len(got.Ignored) != 1 {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestSearchRealSubmoduleAlone(t *testing.T) {
	dir := tempDir(t)
	top := filepath.Join(dir, "top")
	project(t, filepath.Join(dir, "library"))
	project(t, top)
	git(t, top, "submodule", "--quiet", "add", filepath.Join(dir, "library"), "sub")
	got := find(t, filepath.Join(top, "sub"), Places{})
	if diff := cmp.Diff([]string{filepath.Join(top, ".git/modules/sub")}, got.Write); diff != "" {
		t.Error(diff, got.Ignored)
	}
	if !slices.Contains(got.Frozen, filepath.Join(top, ".git/modules/sub/hooks")) {
		t.Errorf("the hooks are not frozen: %v", got.Frozen)
	}
}

// A worktree with submodules has their repositories in the same git directory.
func TestSearchRealWorktreeWithSubmodule(t *testing.T) {
	dir := tempDir(t)
	top, branch := filepath.Join(dir, "top"), filepath.Join(dir, "branch")
	project(t, filepath.Join(dir, "library"))
	project(t, top)
	git(t, top, "submodule", "--quiet", "add", filepath.Join(dir, "library"), "a/sub")
	git(t, top, "commit", "-q", "-m", "second")
	git(t, top, "worktree", "add", "-q", branch)
	git(t, branch, "submodule", "--quiet", "update", "--init")
	got := find(t, branch, Places{})
	if diff := cmp.Diff([]string{filepath.Join(top, ".git")}, got.Write); diff != "" {
		t.Error(diff)
	}
	if want := filepath.Join(top, ".git/worktrees/branch/modules/a/sub/config"); !slices.Contains(got.Frozen, want) {
		t.Errorf("%s is not frozen: %v", want, got.Frozen)
	}
	if !slices.Contains(got.Frozen, "a/sub/.git") || !slices.Contains(got.Pinned, "a/sub") {
		t.Errorf("the file of the submodule is not protected: %v, %v", got.Frozen, got.Pinned)
	}
}

// A file of the workspace cannot open a directory outside that does not name the file.
func TestSearchHostileGitFile(t *testing.T) {
	dir := tempDir(t)
	top, branch := filepath.Join(dir, "top"), filepath.Join(dir, "branch")
	project(t, top)
	git(t, top, "worktree", "add", "-q", branch)
	project(t, filepath.Join(dir, "library"))
	git(t, top, "submodule", "--quiet", "add", filepath.Join(dir, "library"), "sub")
	build(t, dir, "home/.ssh/id", "home/.ssh/HEAD", "home/.ssh/objects/", "home/.ssh/refs/", "home/.ssh/config", "fake/HEAD", "fake/link -> ../home", "big")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("fake/commondir", filepath.Join(dir, "home/.ssh"))
	write("fake/gitdir", filepath.Join(dir, "evil/.git"))
	for name, text := range map[string]string{
		"a directory of keys":           "gitdir: " + filepath.Join(dir, "home/.ssh"),
		"relative":                      "gitdir: ../home/.ssh",
		"a link":                        "gitdir: ../fake/link/.ssh",
		"the root":                      "gitdir: /",
		"the worktree of another":       "gitdir: " + filepath.Join(top, ".git/worktrees/branch"),
		"the submodule of another":      "gitdir: " + filepath.Join(top, ".git/modules/sub"),
		"the repository of another":     "gitdir: " + filepath.Join(top, ".git"),
		"points back, common elsewhere": "gitdir: " + filepath.Join(dir, "fake"),
		"no path":                       "gitdir: ",
		"nothing":                       "",
		"NUL":                           "gitdir: /\x00",
		"two lines":                     "gitdir: a\nb",
		"large":                         "gitdir: " + strings.Repeat("x", 100<<10),
		"missing":                       "gitdir: /none/such",
	} {
		t.Run(name, func(t *testing.T) {
			evil := filepath.Join(dir, "evil")
			if err := os.RemoveAll(evil); err != nil {
				t.Fatal(err)
			}
			build(t, dir, "evil/")
			write("evil/.git", text)
			got := find(t, evil, Places{Home: filepath.Join(dir, "home")})
			if len(got.Write) != 0 || !slices.Equal(got.Frozen, []string{".git"}) {
				t.Errorf("got %+v", got)
			}
		})
	}
	// The same with a real worktree, whose own file says so.
	if got := find(t, branch, Places{}); len(got.Write) != 1 {
		t.Errorf("the real one is refused: %+v", got)
	}
	// Both point at each other, but the common directory is not around the other.
	if err := os.Remove(filepath.Join(dir, "evil/.git")); err != nil {
		t.Fatal(err)
	}
	write("evil/.git", "gitdir: "+filepath.Join(dir, "fake"))
	if got := find(t, filepath.Join(dir, "evil"), Places{}); len(got.Write) != 0 || len(got.Ignored) != 1 || got.Ignored[0].Why == "" {
		t.Errorf("got %+v", got)
	}
}

// A bare repository around the workspace would show the workspaces beside it.
func TestSearchRepositoryAroundWorkspace(t *testing.T) {
	dir := tempDir(t)
	project(t, filepath.Join(dir, "library"))
	git(t, dir, "clone", "-q", "--bare", "library", "bare")
	git(t, filepath.Join(dir, "bare"), "worktree", "add", "-q", "main-tree", "-b", "other")
	got := find(t, filepath.Join(dir, "bare", "main-tree"), Places{})
	if len(got.Write) != 0 || len(got.Ignored) != 1 || !strings.Contains(got.Ignored[0].Why, "contains the workspace") {
		t.Errorf("got %+v", got)
	}
}
