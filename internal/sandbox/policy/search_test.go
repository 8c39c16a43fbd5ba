package policy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/perstack-go/perstack/expert"
)

// tempDir is a directory whose path has no links.
func tempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// build makes files below dir. A name that ends in a slash is a directory, and "a -> b" a link.
func build(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		link, target, isLink := strings.Cut(name, " -> ")
		path := filepath.Join(dir, link)
		parent := filepath.Dir(path)
		if strings.HasSuffix(name, "/") && !isLink {
			parent = path
		}
		err := os.MkdirAll(parent, 0o755)
		switch {
		case err != nil || parent == path:
		case isLink:
			err = os.Symlink(strings.ReplaceAll(target, "ROOT", dir), path)
		default:
			err = os.WriteFile(path, []byte("x\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestSearch(t *testing.T) {
	repository := func(dir string) []string {
		return []string{dir + "/HEAD", dir + "/config", dir + "/objects/pack/", dir + "/refs/heads/main", dir + "/hooks/pre-commit"}
	}
	join := func(lists ...[]string) (all []string) {
		for _, list := range lists {
			all = append(all, list...)
		}
		return all
	}
	for name, test := range map[string]struct {
		files   []string
		options Options
		want    Protected
	}{
		"nothing": {files: []string{"a.txt", "src/config", "src/hooks/x", "perstack/main.go"}},
		"env files": {
			files: []string{".env", ".env.local", ".env.example", ".env.sample", "a/.env.template", "a/b/.env", "node_modules/x/.env", ".ENV.x", "x.env", ".envrc"},
			want:  Protected{Hidden: []string{".ENV.x", ".env", ".env.local", "a/b/.env", "node_modules/x/.env"}, Pinned: []string{"a", "a/b", "node_modules", "node_modules/x"}},
		},
		"a directory with the name of an env file": {files: []string{".env/bin/python", ".env/.env"}, want: Protected{Hidden: []string{".env"}}},
		"rules": {
			files: []string{"perstack.toml", "perstack.lock", "a/b/perstack.toml", "a/perstack.toml.bak"},
			want:  Protected{Frozen: []string{"a/b/perstack.toml", "perstack.lock", "perstack.toml"}, Pinned: []string{"a", "a/b"}},
		},
		"a repository": {
			files: repository(".git"),
			want:  Protected{Frozen: []string{".git/config", ".git/hooks"}, Pinned: []string{".git"}},
		},
		"a directory .git without the files of a repository": {
			files: []string{".git/config"},
			want:  Protected{Frozen: []string{".git/config"}, Pinned: []string{".git"}},
		},
		"submodules and worktrees": {
			files: join(repository(".git"), repository(".git/modules/a"), repository(".git/modules/a/modules/b/c"),
				[]string{".git/worktrees/w/HEAD", ".git/worktrees/w/commondir", ".git/worktrees/w/config.worktree", ".git/config.worktree"}),
			want: Protected{
				Frozen: []string{
					".git/config", ".git/config.worktree", ".git/hooks", ".git/modules/a/config", ".git/modules/a/hooks",
					".git/modules/a/modules/b/c/config", ".git/modules/a/modules/b/c/hooks", ".git/worktrees/w/commondir", ".git/worktrees/w/config.worktree",
				},
				Pinned: []string{
					".git", ".git/modules", ".git/modules/a", ".git/modules/a/modules", ".git/modules/a/modules/b", ".git/modules/a/modules/b/c",
					".git/worktrees", ".git/worktrees/w",
				},
			},
		},
		"a bare repository of another name": {
			files: repository("x/mirror"),
			want:  Protected{Frozen: []string{"x/mirror/config", "x/mirror/hooks"}, Pinned: []string{"x", "x/mirror"}},
		},
		"files that were moved into a repository": {
			files: join(repository(".git"), []string{".git/objects/ab/x/.env", ".git/refs/heads/perstack.toml"}),
			want: Protected{
				Hidden: []string{".git/objects/ab/x/.env"}, Frozen: []string{".git/config", ".git/hooks"},
				Pinned: []string{".git", ".git/objects", ".git/objects/ab", ".git/objects/ab/x"},
			},
		},
		"links": {
			files: []string{".env -> conf/secret", "conf/secret", "a/.env -> ROOT/conf/other", "conf/other", "b/.env -> nowhere", "c/.env -> /etc/hostname", "d/.env -> .."},
			want:  Protected{Hidden: []string{".env", "a/.env", "b/.env", "c/.env", "conf/other", "conf/secret", "d/.env"}, Pinned: []string{"a", "b", "c", "conf", "d"}},
		},
		"links of links": {
			files: []string{"perstack.toml -> one/file", "one -> two", "two/file -> ../three/file", "three/file"},
			want:  Protected{Frozen: []string{"one", "perstack.toml", "three/file", "two/file"}, Pinned: []string{"three", "two"}},
		},
		"a loop": {files: []string{".env -> .env", "perstack.toml -> b", "b -> perstack.toml"}, want: Protected{Hidden: []string{".env"}, Frozen: []string{"b", "perstack.toml"}}},
		"linked hooks": {
			files: []string{".git/HEAD", ".git/config -> ../tools/config", ".git/hooks -> ../tools/hooks", "tools/config", "tools/hooks/pre-commit"},
			want:  Protected{Frozen: []string{".git/config", ".git/hooks", "tools/config", "tools/hooks"}, Pinned: []string{".git", "tools"}},
		},
		"a linked repository": {
			files: join(repository("store/x.git"), []string{".git -> store/x.git", "out/.git -> /home"}),
			want:  Protected{Frozen: []string{".git", "out/.git", "store/x.git/config", "store/x.git/hooks"}, Pinned: []string{"out", "store", "store/x.git"}},
		},
		"a link to a directory is not followed": {files: []string{"up -> ..", "here -> .", "a/.env"}, want: Protected{Hidden: []string{"a/.env"}, Pinned: []string{"a"}}},
		"an old history":                        {files: []string{"perstack/jobs/j1/journal.jsonl", "perstack/.env"}, want: Protected{Hidden: []string{"perstack"}}},
		"a history that is not in the root":     {files: []string{"a/perstack/jobs/j1/journal.jsonl"}},
		"named": {
			files:   []string{"config/keys.json", "tools/x/run.sh", "bin/server.js", "lib -> tools", "tools/.env"},
			options: Options{Hide: []string{"config/keys.json", "gone"}, Protect: []string{"tools/", "lib/x", "none"}, Programs: []string{"bin/server.js", "bin/none", "/usr/bin/node", "../x", ""}},
			want: Protected{
				Hidden: []string{"config/keys.json", "tools/.env"}, Frozen: []string{"bin/server.js", "lib", "tools"}, Pinned: []string{"bin", "config"}, Missing: []string{"gone", "none"},
			},
		},
		"hidden wins": {
			files:   []string{"a/b/perstack.toml", "a/b/c/.git/config"},
			options: Options{Hide: []string{"a/b"}, Protect: []string{"a/b"}},
			want:    Protected{Hidden: []string{"a/b"}, Pinned: []string{"a"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tempDir(t)
			build(t, dir, test.files...)
			got, err := Search(t.Context(), dir, test.options)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&test.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			valid(t, dir, got)
		})
	}
}

// valid checks that what was found fits a policy.
func valid(t *testing.T, dir string, found *Protected) {
	t.Helper()
	p := &Policy{Level: expert.SandboxFull, Workspace: Workspace{Path: dir}, Write: found.Write, Hidden: found.Hidden, Frozen: found.Frozen, Pinned: found.Pinned}
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
}

func TestSearchThroughLink(t *testing.T) {
	dir := tempDir(t)
	build(t, dir, "real/.env", "link -> real")
	got, err := Search(t.Context(), filepath.Join(dir, "link"), Options{Protect: []string{filepath.Join(dir, "link", ".env")}})
	if err != nil || !cmp.Equal(got.Hidden, []string{".env"}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestSearchNamedOutside(t *testing.T) {
	dir := tempDir(t)
	for _, o := range []Options{{Hide: []string{"../x"}}, {Hide: []string{"."}}, {Protect: []string{"/etc"}}, {Protect: []string{""}}} {
		if _, err := Search(t.Context(), dir, o); err == nil || !strings.Contains(err.Error(), "does not lie in the workspace") {
			t.Errorf("%v: got %v", o, err)
		}
	}
}

func TestSearchLimits(t *testing.T) {
	for name, test := range map[string]struct {
		limits limits
		files  func(i int) string
		want   string
	}{
		"names":        {limits{names: 10}, func(i int) string { return fmt.Sprintf("f%d", i) }, "more than 10 files; choose a smaller workspace"},
		"env files":    {limits{names: 99, env: 10, frozen: 99}, func(i int) string { return fmt.Sprintf(".env.%d", i) }, "more than 10 env files"},
		"repositories": {limits{names: 99, repositories: 10, frozen: 99, pinned: 99, depth: 9}, func(i int) string { return fmt.Sprintf("d%d/.git/x", i) }, "more than 10 git repositories"},
		"files .git":   {limits{names: 99, repositories: 10, frozen: 99, pinned: 99, depth: 9}, func(i int) string { return fmt.Sprintf("d%d/.git", i) }, "more than 10 git repositories"},
		"rules":        {limits{names: 99, frozen: 10, pinned: 99, depth: 9}, func(i int) string { return fmt.Sprintf("d%d/perstack.toml", i) }, "more than 10 files that must not change"},
		"directories":  {limits{names: 99, env: 99, frozen: 99, pinned: 10, depth: 9}, func(i int) string { return fmt.Sprintf("d%d/.env", i) }, "more than 10 directories around files to protect"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tempDir(t)
			for i := range 10 {
				build(t, dir, test.files(i))
			}
			if err := (&search{root: dir, limits: test.limits}).run(t.Context(), Options{}); err != nil {
				t.Fatalf("with 10: %v", err)
			}
			build(t, dir, test.files(10))
			err := (&search{root: dir, limits: test.limits}).run(t.Context(), Options{})
			var limit *LimitError
			if !errors.As(err, &limit) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestSearchDeep(t *testing.T) {
	dir := tempDir(t)
	build(t, dir, "a/b/c/d/.env", "a/x/.env")
	s := &search{root: dir, limits: defaultLimits()}
	s.limits.depth = 2
	if err := s.run(t.Context(), Options{}); err != nil {
		t.Fatal(err)
	}
	got := s.result()
	if diff := cmp.Diff([]string{"a/b/c", "a/x/.env"}, got.Hidden); diff != "" || len(got.Closed) != 1 {
		t.Error(diff, got.Closed)
	}
}

func TestSearchCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	want := errors.New("stopped")
	cancel(want)
	if _, err := Search(ctx, tempDir(t), Options{}); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
	if _, err := Search(t.Context(), filepath.Join(tempDir(t), "none"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
